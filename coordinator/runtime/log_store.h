#ifndef MUSTER_COORDINATOR_RUNTIME_LOG_STORE_H_
#define MUSTER_COORDINATOR_RUNTIME_LOG_STORE_H_

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/runtime/job_signal.h"
#include "coordinator/runtime/log_file_name.h"
#include "proto/agent.pb.h"

namespace muster::coordinator {

struct LogStoreOptions {
  // Holds <job id>/<LogFileName>; made when the first log comes.
  std::string dir;
  // Of one worker's log. What comes beyond is dropped, and a last line says so.
  int64_t max_file_bytes = int64_t{64} << 20;
  // Logs stop here, so that the coordinator's own state still has room on the same disk.
  int64_t min_free_bytes = int64_t{64} << 20;
};

// The logs of workers, kept so that they outlive their nodes. A file's size is the offset that is kept, so nothing but
// the files has to survive a restart. Thread-safe; may wait for the disk.
class LogStore {
 public:
  LogStore(LogStoreOptions options, Clock* clock);

  // Keeps what of the chunk is new and continues the file; returns the offset before which everything is kept (or was
  // dropped at the limit). A chunk beyond the end of the file changes nothing.
  //   INVALID_ARGUMENT    a job id, generation, rank, node or offset that cannot be
  //   RESOURCE_EXHAUSTED  no room; a part of the chunk may be kept
  //   PERMISSION_DENIED, INTERNAL  the folder cannot be written
  absl::StatusOr<int64_t> Append(const v1::LogChunk& chunk);

  // Whether the end of this rank's log came in. Not remembered over a restart.
  bool SawEnd(const JobId& job, Generation generation, int rank) const;

  // Files of a job, ordered; none if it has none.
  absl::StatusOr<std::vector<LogFileName>> Files(const JobId& job) const;
  std::string PathOf(const JobId& job, const LogFileName& file) const;

  // Told of every chunk that added something.
  JobSignal& appended() { return appended_; }

 private:
  absl::StatusOr<int64_t> AppendToFile(const v1::LogChunk& chunk, const LogFileName& name, bool* added);
  absl::Status CheckRoom() const;
  std::string CutLine() const;

  const LogStoreOptions options_;
  Clock* const clock_;
  JobSignal appended_;

  mutable std::mutex mu_;
  // Guarded by mu_, which is also held while a file is written, so that two streams cannot mix within one.
  std::set<std::pair<JobId, std::pair<Generation, int>>> ended_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_LOG_STORE_H_
