#ifndef MUSTER_COMMON_FAULT_FILE_SYSTEM_H_
#define MUSTER_COMMON_FAULT_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "common/file_system.h"

namespace muster {

// A file system in memory for tests: any operation can be made to fail, its space can run out, and it can crash, which
// loses what was not synced. Paths are absolute, the root is there. Thread-safe.
//
// What survives a crash of the machine is what POSIX promises and no more: a file's bytes as of its last Sync; a
// folder's entries as of its last SyncDir. (A file that was synced in a folder that was not is lost.)
class FaultFileSystem final : public FileSystem {
 public:
  enum class Crash {
    // The process died: the system keeps everything.
    kProcess,
    // The machine died, and nothing unsynced had reached the disk.
    kMachineDropsUnsynced,
    // The machine died, and of each folder's changes any, in whatever order, had reached the disk; of files any part.
    kMachineKeepsSome,
  };

  FaultFileSystem();
  ~FaultFileSystem() override;

  // Operations so far: every call of this interface and of its files' counts one, in the order they come.
  int64_t operations() const;
  // Operation `n` (the first is 1) fails with `error` and does nothing; an Append writes half.
  void FailOnce(int64_t n, absl::Status error);
  // Operation `n` and all after it, until Restart: as if the process had stopped there.
  void FailFrom(int64_t n, absl::Status error);
  // After `bytes` more an Append writes what fits and fails with RESOURCE_EXHAUSTED. Removing gives nothing back.
  void SetFreeBytes(int64_t bytes);

  // Crashes, and comes up again without faults. Files that are open stay dead. `seed` is for kMachineKeepsSome.
  void Restart(Crash crash, uint64_t seed = 0);

  // Puts a durable file, with its folders. Not an operation.
  void AddFile(const std::string& path, const std::string& content);

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(const std::string& path) override;
  absl::Status CreateDirs(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override;
  absl::StatusOr<bool> Exists(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status SyncDir(const std::string& path) override;

 private:
  struct Node;
  class Writer;
  class Reader;
  struct Place;

  // All with mu_ held.
  absl::Status Tick(uint64_t life);
  std::shared_ptr<Node> Find(const std::string& path) const;
  absl::StatusOr<Place> FindPlace(const std::string& operation, const std::string& path) const;
  absl::Status MakeDirs(const std::string& path);
  static void Lose(Node* node, Crash crash, std::mt19937_64* random);

  mutable std::mutex mu_;
  std::shared_ptr<Node> root_;
  int64_t operations_ = 0;
  int64_t fail_once_ = 0;
  int64_t fail_from_ = 0;
  absl::Status error_;
  int64_t free_bytes_;
  // Of this start; files of an earlier one are dead.
  uint64_t life_ = 0;
};

}  // namespace muster

#endif  // MUSTER_COMMON_FAULT_FILE_SYSTEM_H_
