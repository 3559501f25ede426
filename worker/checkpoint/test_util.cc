#include "worker/checkpoint/test_util.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "common/status_macros.h"

namespace muster::worker {

FakeState::Shapes FakeState::AwkwardShapes() {
  return {
      {"param/wte.weight", {521, 509}},      {"param/scale", {}},      {"param/ln.bias", {7}},
      {"exp_avg/wte.weight", {521, 509}},    {"exp_avg/scale", {}},    {"exp_avg/ln.bias", {7}},
      {"exp_avg_sq/wte.weight", {521, 509}}, {"exp_avg_sq/scale", {}}, {"exp_avg_sq/ln.bias", {7}},
  };
}

FakeState::FakeState(const Shapes& shapes, uint32_t seed) : shapes_(shapes) {
  uint32_t next = seed * 0x01000000;
  for (const auto& [name, shape] : shapes_) {
    std::vector<float> values(Elements(shape).value());
    for (float& value : values) {
      // Bit patterns of all kinds, also of numbers that are not: a checkpoint must not touch them.
      const uint32_t bits = seed == 0 ? 0 : ++next * 2654435761u;
      std::memcpy(&value, &bits, sizeof(bits));
    }
    data_.push_back(std::move(values));
  }
}

std::vector<TensorSlice> FakeState::SlicesOf(int rank, int world) {
  int64_t sharded = 0;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (!absl::StartsWith(shapes_[i].first, "param/")) sharded += static_cast<int64_t>(data_[i].size());
  }
  const int64_t begin = sharded * rank / world;
  const int64_t end = sharded * (rank + 1) / world;
  std::vector<TensorSlice> slices;
  int64_t at = 0;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const auto& [name, shape] = shapes_[i];
    const int64_t size = static_cast<int64_t>(data_[i].size());
    if (absl::StartsWith(name, "param/")) {
      if (rank == 0) slices.push_back({name, shape, 0, absl::MakeSpan(data_[i])});
      continue;
    }
    const int64_t from = std::clamp<int64_t>(begin - at, 0, size);
    const int64_t to = std::clamp<int64_t>(end - at, 0, size);
    slices.push_back({name, shape, from, absl::MakeSpan(data_[i]).subspan(from, to - from)});
    at += size;
  }
  return slices;
}

std::vector<TensorSlice> FakeState::All() {
  std::vector<TensorSlice> slices;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    slices.push_back({shapes_[i].first, shapes_[i].second, 0, absl::MakeSpan(data_[i])});
  }
  return slices;
}

bool FakeState::operator==(const FakeState& other) const {
  return data_.size() == other.data_.size() &&
         std::equal(data_.begin(), data_.end(), other.data_.begin(),
                    [](const std::vector<float>& a, const std::vector<float>& b) {
                      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
                    });
}

v1::CheckpointManifest TestHeader(const std::string& job_uid) {
  v1::CheckpointManifest header;
  header.set_job_id("tiny-1");
  header.set_job_uid(job_uid);
  header.mutable_cursor()->set_seed(1);
  header.mutable_cursor()->set_consumed(6400);
  header.mutable_cursor()->set_samples_per_epoch(1000);
  header.mutable_schedule()->set_lr(1e-3);
  header.set_writer("muster test");
  return header;
}

absl::StatusOr<v1::CheckpointManifest> SaveAll(FileSystem* fs, const std::string& job_dir, int64_t step,
                                               uint64_t generation, int world, FakeState* state,
                                               const std::string& job_uid) {
  std::vector<v1::ShardReport> reports;
  for (int rank = 0; rank < world; ++rank) {
    const SaveOptions options = {.job_dir = job_dir,
                                 .step = step,
                                 .generation = generation,
                                 .rank = rank,
                                 .world_size = world,
                                 .header = TestHeader(job_uid)};
    MUSTER_ASSIGN_OR_RETURN(const v1::ShardReport report, SaveShard(fs, options, state->SlicesOf(rank, world)));
    reports.push_back(report);
  }
  return MergeShardReports(reports);
}

}  // namespace muster::worker
