#include "worker/runtime/manifest_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/spec/job_spec.h"

namespace muster::worker {
namespace {

using testing::HasSubstr;

v1::HelloReply Hello() {
  v1::HelloReply hello;
  hello.mutable_spec()->mutable_train()->set_steps(100);
  ApplyDefaults(hello.mutable_spec());
  hello.set_job_uid("uid-1");
  hello.set_world_size(3);
  return hello;
}

v1::CheckpointManifest HeaderAt(int64_t step) {
  v1::WorkerRef worker;
  worker.set_job_id("job-1");
  worker.set_generation(4);
  return ManifestHeader(worker, Hello(), step, 500);
}

TEST(ManifestHeader, SaysWhereTrainingStands) {
  const v1::CheckpointManifest header = HeaderAt(10);
  EXPECT_EQ(header.job_id(), "job-1");
  EXPECT_EQ(header.job_uid(), "uid-1");
  EXPECT_EQ(header.generation(), 4u);
  EXPECT_EQ(header.world_size(), 3);
  EXPECT_EQ(header.cursor().consumed(), 10u * Hello().spec().train().batch().global());
  EXPECT_EQ(header.cursor().samples_per_epoch(), 500u);
}

TEST(CheckResume, TheSameSpecResumes) {
  const absl::Status s = CheckResume(HeaderAt(10), Hello().spec().train(), 500);
  EXPECT_TRUE(s.ok()) << s;
}

TEST(CheckResume, EveryChangeThatMattersIsRefusedWithBothValues) {
  const struct {
    std::function<void(v1::TrainSpec*)> change;
    const char* field;
    const char* then;
    const char* now;
  } cases[] = {
      {[](v1::TrainSpec* t) { t->mutable_model()->set_layers(9); }, "train.model.layers", "was 4 ", "is 9 "},
      {[](v1::TrainSpec* t) { t->mutable_batch()->set_global(64); }, "train.batch.global", "was 32 ", "is 64 "},
      {[](v1::TrainSpec* t) { t->mutable_schedule()->set_lr(0.5); }, "train.schedule.lr", "was 0.001 ", "is 0.5 "},
      {[](v1::TrainSpec* t) { t->mutable_schedule()->set_decay_steps(7); }, "decay_steps", "was 100 ", "is 7 "},
      {[](v1::TrainSpec* t) { t->mutable_schedule()->clear_min_lr(); }, "min_lr", "was 0.0001 ", "is not set "},
      {[](v1::TrainSpec* t) { t->set_seed(2); }, "train.seed", "was 1 ", "is 2 "},
  };
  for (const auto& c : cases) {
    v1::TrainSpec train = Hello().spec().train();
    c.change(&train);
    const absl::Status s = CheckResume(HeaderAt(10), train, 500);
    EXPECT_TRUE(absl::IsFailedPrecondition(s)) << c.field;
    for (const char* part : {c.field, c.then, c.now, "step 10"}) {
      EXPECT_THAT(std::string(s.message()), HasSubstr(part));
    }
  }
  EXPECT_THAT(std::string(CheckResume(HeaderAt(10), Hello().spec().train(), 499).message()), HasSubstr("was 500 "));
  v1::CheckpointManifest torn = HeaderAt(10);
  torn.mutable_cursor()->set_consumed(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckResume(torn, Hello().spec().train(), 500)));
}

}  // namespace
}  // namespace muster::worker
