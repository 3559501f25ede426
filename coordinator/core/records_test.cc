#include "coordinator/core/records.h"

#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

std::map<std::string, std::string> Cluster(int schema = kSchemaVersion) {
  v1::StoredCluster cluster;
  cluster.set_schema_version(schema);
  cluster.set_cluster_id("c");
  cluster.set_next_job_number(2);
  return {{ClusterKey(), Serialize(cluster)}};
}

v1::StoredJob PendingJob() {
  v1::StoredJob job;
  job.set_job_id("a-b-1");
  job.set_job_uid("token");
  job.set_state(v1::PENDING);
  return job;
}

TEST(Keys, AreAsTheProtoSays) {
  EXPECT_EQ(NodeKey("n1"), "node/n1");
  EXPECT_EQ(JobKey("a-1"), "job/a-1");
  EXPECT_EQ(GenerationKey("a-1", 12), "gen/a-1/00000012");
  EXPECT_EQ(CheckpointKey("a-1", 1000), "ckpt/a-1/000000001000");
  EXPECT_EQ(EventKey("a-1", 7), "event/a-1/00000007");
  EXPECT_EQ(MetricsKey("a-1", 3), "metrics/a-1/000000000003");
}

TEST(Serialize, MapsOfAnyInsertionOrderGiveTheSameBytes) {
  v1::JobSpec one;
  v1::JobSpec other;
  for (int i = 0; i < 100; ++i) (*one.mutable_env())[std::to_string(i)] = "x";
  for (int i = 99; i >= 0; --i) (*other.mutable_env())[std::to_string(i)] = "x";
  EXPECT_EQ(Serialize(one), Serialize(other));
}

TEST(ReadRecords, JobNameWithDashesGivesItsNumber) {
  auto records = Cluster();
  records[JobKey("a-b-1")] = Serialize(PendingJob());
  State state;
  ASSERT_TRUE(ReadRecords(records, &state).ok());
  EXPECT_EQ(state.jobs_by_number.at(1), JobId("a-b-1"));
  EXPECT_EQ(state.unfinished.count(1), 1u);
  EXPECT_EQ(state.jobs_by_token.at("token"), JobId("a-b-1"));
}

TEST(ReadRecords, NewerSchemaIsRefused) {
  State state;
  EXPECT_EQ(ReadRecords(Cluster(kSchemaVersion + 1), &state).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ReadRecords, WhatDoesNotFitIsDataLoss) {
  const auto code = [](const std::string& key, const std::string& value) {
    auto records = Cluster();
    records[key] = value;
    State state;
    return ReadRecords(records, &state).code();
  };
  const auto loss = absl::StatusCode::kDataLoss;
  EXPECT_EQ(code("job/a-b-1", "\xff"), loss);
  EXPECT_EQ(code("job/other-1", Serialize(PendingJob())), loss);
  EXPECT_EQ(code("future/x", ""), loss);
  v1::StoredEvent event;
  event.set_job_id("nobody-9");
  EXPECT_EQ(code("event/nobody-9/00000000", Serialize(event)), loss);
  v1::StoredJob running = PendingJob();
  running.set_state(v1::JOB_RUNNING);
  running.set_generation(3);
  EXPECT_EQ(code("job/a-b-1", Serialize(running)), loss);
  // Its number would be given again.
  v1::StoredJob late = PendingJob();
  late.set_job_id("a-2");
  EXPECT_EQ(code("job/a-2", Serialize(late)), loss);
}

TEST(ReadRecords, NoClusterRecordIsDataLoss) {
  State state;
  EXPECT_EQ(ReadRecords({{JobKey("a-b-1"), Serialize(PendingJob())}}, &state).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace muster::coordinator
