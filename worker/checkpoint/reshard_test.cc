#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/test_util.h"

namespace muster::worker {
namespace {

class ReshardTest : public ::testing::Test {
 protected:
  ReshardTest() {
    std::string dir = ::testing::TempDir() + "/reshard_XXXXXX";
    job_dir_ = std::string(::mkdtemp(dir.data())) + "/spec/tiny-1";
  }
  ~ReshardTest() override { std::filesystem::remove_all(std::filesystem::path(job_dir_).parent_path().parent_path()); }

  std::string job_dir_;
};

// Loaded as every rank of the next world size loads, saved again, and so on: bit for bit the same in the end.
TEST_F(ReshardTest, ChainOfWorldSizesKeepsEveryBit) {
  FileSystem* fs = FileSystem::Posix();
  FakeState original(FakeState::AwkwardShapes(), 7);
  FakeState state(FakeState::AwkwardShapes(), 7);
  int64_t step = 0;
  for (int world : {1, 8, 3, 5, 2}) {
    ++step;
    const auto manifest = SaveAll(fs, job_dir_, step, /*generation=*/step, world, &state);
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    const auto path = Publish(fs, job_dir_, *manifest);
    ASSERT_TRUE(path.ok()) << path.status();
    ASSERT_TRUE(VerifyCheckpoint(fs, *path).ok()) << VerifyCheckpoint(fs, *path);
    const auto read = ReadManifest(fs, *path);
    ASSERT_TRUE(read.ok()) << read.status();
    for (int next_world : {1, 2, 3, 7, 16}) {
      FakeState loaded(FakeState::AwkwardShapes(), 0);
      for (int rank = 0; rank < next_world; ++rank) {
        const absl::Status status = LoadSlices(fs, *path, *read, loaded.SlicesOf(rank, next_world));
        ASSERT_TRUE(status.ok()) << status;
      }
      ASSERT_TRUE(loaded == original) << world << " to " << next_world;
    }
    state = FakeState(FakeState::AwkwardShapes(), 0);
    ASSERT_TRUE(LoadSlices(fs, *path, *manifest, state.All()).ok());
  }
}

TEST_F(ReshardTest, AnySliceOfATensorLoads) {
  FileSystem* fs = FileSystem::Posix();
  FakeState state(FakeState::AwkwardShapes(), 3);
  const auto manifest = SaveAll(fs, job_dir_, 1, 1, 5, &state);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const auto path = Publish(fs, job_dir_, *manifest);
  ASSERT_TRUE(path.ok()) << path.status();
  std::mt19937 random(1);
  const TensorSlice whole = state.All()[3];
  for (int i = 0; i < 30; ++i) {
    const int64_t size = static_cast<int64_t>(whole.data.size());
    const int64_t start = random() % size;
    std::vector<float> part(random() % (size - start + 1));
    const TensorSlice target = {whole.name, whole.shape, start, absl::MakeSpan(part)};
    ASSERT_TRUE(LoadSlices(fs, *path, *manifest, {target}).ok());
    ASSERT_EQ(std::memcmp(part.data(), whole.data.data() + start, part.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace muster::worker
