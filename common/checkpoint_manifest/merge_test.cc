#include "common/checkpoint_manifest/merge.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

// Rank `rank` of `world` with [start, start + length) of "param/w", which has shape {2, 5}.
v1::ShardReport Report(int rank, int world, int64_t start, int64_t length) {
  v1::ShardReport report;
  report.set_step(100);
  report.set_rank(rank);
  report.mutable_file()->set_name(absl::StrCat("shard-", rank));
  report.mutable_file()->set_bytes(length * 4);
  v1::TensorEntry* tensor = report.add_tensors();
  tensor->set_name("param/w");
  tensor->set_dtype("F32");
  tensor->add_shape(2);
  tensor->add_shape(5);
  v1::TensorChunk* chunk = tensor->add_chunks();
  chunk->set_file(report.file().name());
  chunk->set_start(start);
  chunk->set_length(length);
  if (rank == 0) {
    report.mutable_header()->set_step(100);
    report.mutable_header()->set_world_size(world);
    report.mutable_header()->set_job_id("a-1");
  }
  return report;
}

TEST(MergeShardReports, AnyOrderGivesFilesByRankAndChunksByStart) {
  auto manifest = MergeShardReports({Report(1, 2, 0, 4), Report(0, 2, 4, 6)});
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->job_id(), "a-1");
  ASSERT_EQ(manifest->files_size(), 2);
  EXPECT_EQ(manifest->files(0).name(), "shard-0");
  ASSERT_EQ(manifest->tensors_size(), 1);
  ASSERT_EQ(manifest->tensors(0).chunks_size(), 2);
  EXPECT_EQ(manifest->tensors(0).chunks(0).file(), "shard-1");
  EXPECT_EQ(manifest->tensors(0).chunks(1).start(), 4);
}

TEST(MergeShardReports, GapIsRefused) {
  EXPECT_EQ(MergeShardReports({Report(0, 2, 0, 4), Report(1, 2, 5, 5)}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MergeShardReports({Report(0, 2, 0, 4), Report(1, 2, 4, 5)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MergeShardReports, OverlapIsRefused) {
  EXPECT_FALSE(MergeShardReports({Report(0, 2, 0, 6), Report(1, 2, 5, 5)}).ok());
}

TEST(MergeShardReports, MissingOrDoubleRankIsRefused) {
  EXPECT_FALSE(MergeShardReports({}).ok());
  EXPECT_FALSE(MergeShardReports({Report(1, 2, 0, 10)}).ok());
  EXPECT_FALSE(MergeShardReports({Report(0, 2, 0, 4), Report(0, 2, 4, 6)}).ok());
  // The header says the world is larger than what came.
  EXPECT_FALSE(MergeShardReports({Report(0, 2, 0, 10)}).ok());
}

TEST(MergeShardReports, OtherShapeIsRefused) {
  v1::ShardReport other = Report(1, 2, 4, 6);
  other.mutable_tensors(0)->set_shape(0, 10);
  other.mutable_tensors(0)->set_shape(1, 1);
  EXPECT_FALSE(MergeShardReports({Report(0, 2, 0, 4), other}).ok());
}

TEST(MergeShardReports, ChunkInAnotherRanksFileIsRefused) {
  v1::ShardReport other = Report(1, 2, 4, 6);
  other.mutable_tensors(0)->mutable_chunks(0)->set_file("shard-0");
  EXPECT_FALSE(MergeShardReports({Report(0, 2, 0, 4), other}).ok());
}

TEST(MergeShardReports, ShapeWhoseSizeOverflowsIsRefused) {
  v1::ShardReport report = Report(0, 1, 0, 10);
  report.mutable_tensors(0)->set_shape(0, int64_t{1} << 62);
  report.mutable_tensors(0)->set_shape(1, 8);
  EXPECT_FALSE(MergeShardReports({report}).ok());
}

}  // namespace
}  // namespace muster
