#include "coordinator/core/records.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace muster::coordinator {
namespace {

absl::Status Damaged(absl::string_view key, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the store's record '", key, "' ", what, "; restore the store from a backup"));
}

template <typename Message>
absl::Status Parse(const std::string& key, const std::string& value, Message* message) {
  if (!message->ParseFromString(value)) return Damaged(key, "cannot be parsed");
  return absl::OkStatus();
}

absl::Status ReadCluster(const std::map<std::string, std::string>& records, State* state) {
  auto it = records.find(ClusterKey());
  if (it == records.end()) return Damaged(ClusterKey(), "is missing while others are there");
  MUSTER_RETURN_IF_ERROR(Parse(it->first, it->second, &state->cluster));
  if (state->cluster.schema_version() > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the store has schema version ", state->cluster.schema_version(),
                                                      ", this program (", kVersion, ") reads up to ", kSchemaVersion,
                                                      "; start the newer program that wrote it"));
  }
  if (state->cluster.schema_version() < 1 || state->cluster.cluster_id().empty()) {
    return Damaged(it->first, "has no schema version or cluster id");
  }
  return absl::OkStatus();
}

absl::Status ReadNode(const std::string& key, const std::string& value, State* state) {
  v1::StoredNode record;
  MUSTER_RETURN_IF_ERROR(Parse(key, value, &record));
  if (key != NodeKey(record.node_id())) return Damaged(key, "is of another node");
  state->nodes[NodeId(record.node_id())].record = std::move(record);
  return absl::OkStatus();
}

absl::Status ReadJob(const std::string& key, const std::string& value, State* state) {
  v1::StoredJob record;
  MUSTER_RETURN_IF_ERROR(Parse(key, value, &record));
  const std::string& id = record.job_id();
  uint64_t number = 0;
  const size_t dash = id.rfind('-');
  if (key != JobKey(id) || dash == std::string::npos || !absl::SimpleAtoi(id.substr(dash + 1), &number)) {
    return Damaged(key, "has no valid job id");
  }
  if (!state->jobs_by_number.emplace(number, JobId(id)).second || record.job_uid().empty()) {
    return Damaged(key, "has another job's number or no token");
  }
  state->jobs_by_token[record.job_uid()] = JobId(id);
  Job& job = state->jobs[JobId(id)];
  job.number = number;
  job.record = std::move(record);
  if (!IsFinished(job.record.state())) state->unfinished[number] = JobId(job.record.job_id());
  return absl::OkStatus();
}

// A record that belongs to a job which must be there.
template <typename Message, typename Key>
absl::Status ReadPart(const std::string& key, const std::string& value, State* state,
                      std::map<Key, Message> Job::*member, Key (*key_of)(const Message&),
                      std::string (*name_of)(absl::string_view, Key)) {
  Message record;
  MUSTER_RETURN_IF_ERROR(Parse(key, value, &record));
  auto job = state->jobs.find(JobId(record.job_id()));
  if (job == state->jobs.end()) return Damaged(key, "belongs to no job");
  const Key k = key_of(record);
  if (name_of(record.job_id(), k) != key) return Damaged(key, "does not fit its key");
  (job->second.*member)[k] = std::move(record);
  return absl::OkStatus();
}

// A job that is past PENDING and not finished has a generation that has not ended.
absl::Status CheckJob(const Job& job) {
  const v1::JobState state = job.record.state();
  const bool has_gang = state == v1::JOB_STARTING || state == v1::JOB_RUNNING || state == v1::CANCELLING;
  if (!has_gang) return absl::OkStatus();
  auto it = job.generations.find(job.record.generation());
  if (it == job.generations.end() || it->second.timeline().has_ended() || it->second.nodes().empty()) {
    return Damaged(JobKey(job.record.job_id()), "has no current generation");
  }
  return absl::OkStatus();
}

}  // namespace

std::string ClusterKey() { return "cluster"; }
std::string NodeKey(absl::string_view node) { return absl::StrCat("node/", node); }
std::string JobKey(absl::string_view job) { return absl::StrCat("job/", job); }
std::string GenerationKey(absl::string_view job, uint64_t generation) {
  return absl::StrFormat("gen/%s/%08d", job, generation);
}
std::string CheckpointKey(absl::string_view job, int64_t step) { return absl::StrFormat("ckpt/%s/%012d", job, step); }
std::string EventKey(absl::string_view job, uint64_t seq) { return absl::StrFormat("event/%s/%08d", job, seq); }
std::string MetricsKey(absl::string_view job, int64_t block) { return absl::StrFormat("metrics/%s/%012d", job, block); }

std::string Serialize(const google::protobuf::MessageLite& message) {
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    // Maps in the order of their keys.
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return out;
}

absl::Status ReadRecords(const std::map<std::string, std::string>& records, State* state) {
  MUSTER_RETURN_IF_ERROR(ReadCluster(records, state));
  // Jobs before what belongs to them.
  for (const auto& [key, value] : records) {
    if (key.rfind("job/", 0) == 0) MUSTER_RETURN_IF_ERROR(ReadJob(key, value, state));
  }
  for (const auto& [key, value] : records) {
    const std::string kind = key.substr(0, key.find('/'));
    absl::Status status;
    if (kind == "cluster" || kind == "job") {
      continue;
    } else if (kind == "node") {
      status = ReadNode(key, value, state);
    } else if (kind == "gen") {
      status = ReadPart<v1::StoredGeneration, uint64_t>(
          key, value, state, &Job::generations, [](const v1::StoredGeneration& g) { return g.generation(); },
          GenerationKey);
    } else if (kind == "ckpt") {
      status = ReadPart<v1::StoredCheckpoint, int64_t>(
          key, value, state, &Job::checkpoints, [](const v1::StoredCheckpoint& c) { return c.step(); }, CheckpointKey);
    } else if (kind == "event") {
      status = ReadPart<v1::StoredEvent, uint64_t>(
          key, value, state, &Job::events, [](const v1::StoredEvent& e) { return e.seq(); }, EventKey);
    } else if (kind == "metrics") {
      status = ReadPart<v1::StoredMetrics, int64_t>(
          key, value, state, &Job::metrics,
          [](const v1::StoredMetrics& m) {
            return m.steps().empty() ? int64_t{-1} : MetricsBlock(m.steps(0).metrics().step());
          },
          MetricsKey);
    } else {
      status = Damaged(key, "is of no known kind");
    }
    MUSTER_RETURN_IF_ERROR(status);
  }
  for (const auto& [id, job] : state->jobs) MUSTER_RETURN_IF_ERROR(CheckJob(job));
  if (!state->jobs_by_number.empty() && state->cluster.next_job_number() <= state->jobs_by_number.rbegin()->first) {
    return Damaged(ClusterKey(), "would give a job's number again");
  }
  return absl::OkStatus();
}

}  // namespace muster::coordinator
