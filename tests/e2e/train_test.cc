// A training job from submission to its last checkpoint, with nothing going wrong.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

TEST(Train, TwoNodesReachSuccessWithACheckpointThatVerifies) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  TrainJob job;
  job.min = job.max = 2;
  job.data = cluster.PackData();
  job.checkpoints = cluster.dir() + "/ckpt";
  job.steps = 60;
  job.every = 20;
  job.more_train = "  eval: {every: 20, batches: 2}\n  sample: {tokens: 16}\n";
  const std::string id = cluster.Submit(job.Yaml());
  const v1::JobDetail done = cluster.WaitForState(id, v1::SUCCEEDED);

  EXPECT_EQ(done.job().step(), 60);
  EXPECT_EQ(done.job().committed_step(), 60);
  EXPECT_EQ(done.job().generation(), 1);
  EXPECT_EQ(done.job().restarts().total(), 0);
  // A uniform guess over 256 bytes costs 5.545; the text has few words.
  EXPECT_LT(done.job().loss(), 4.0);
  EXPECT_GT(done.val_loss(), 0);
  EXPECT_FALSE(done.sample().empty());
  ASSERT_EQ(done.generations_size(), 1);
  EXPECT_EQ(done.generations(0).world_size(), 2);
  EXPECT_TRUE(done.generations(0).timeline().has_first_step());

  const std::string folder = job.checkpoints + "/" + id;
  EXPECT_EQ(cluster.Ctl({"checkpoint", "verify", folder + "/step-00000060"}).code, 0);
  const CtlResult listed = cluster.Ctl({"checkpoint", "ls", id});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("60"));
  EXPECT_EQ(cluster.Ctl({"wait", id}).code, 0);
}

TEST(Train, DamagedCheckpointIsNamedByVerify) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  TrainJob job;
  job.data = cluster.PackData();
  job.checkpoints = cluster.dir() + "/ckpt";
  job.steps = 10;
  job.every = 10;
  const std::string id = cluster.Submit(job.Yaml());
  cluster.WaitForState(id, v1::SUCCEEDED);
  const std::string step = "ckpt/" + id + "/step-00000010";
  ASSERT_EQ(cluster.Ctl({"checkpoint", "verify", cluster.dir() + "/" + step}).code, 0);

  const v1::JobDetail detail = cluster.Get(id);
  v1::ListCheckpointsRequest request;
  request.set_job(id);
  v1::ListCheckpointsReply reply;
  grpc::ClientContext context;
  ASSERT_TRUE(cluster.stub().ListCheckpoints(&context, request, &reply).ok());
  ASSERT_EQ(reply.checkpoints_size(), 1);
  EXPECT_TRUE(reply.checkpoints(0).published());
  const std::string file = reply.checkpoints(0).manifest().files(0).name();
  std::string bytes = cluster.Read(step + "/" + file);
  ASSERT_GT(bytes.size(), 100u) << file;
  bytes[bytes.size() - 10] ^= 1;
  cluster.Write(step + "/" + file, bytes);

  const CtlResult result = cluster.Ctl({"checkpoint", "verify", cluster.dir() + "/" + step});
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  EXPECT_THAT(result.out + result.err, HasSubstr(file));
}

TEST(Train, OneNodeAndTwoReachTheSameLoss) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  TrainJob job;
  job.data = cluster.PackData();
  job.checkpoints = cluster.dir() + "/ckpt";
  job.steps = 20;
  job.every = 20;
  job.name = "alone";
  const std::string alone = cluster.Submit(job.Yaml());
  job.name = "pair";
  job.min = job.max = 2;
  cluster.WaitForState(alone, v1::SUCCEEDED);
  const std::string pair = cluster.Submit(job.Yaml());
  const double loss = cluster.WaitForState(pair, v1::SUCCEEDED).job().loss();
  EXPECT_NEAR(loss, cluster.Get(alone).job().loss(), 1e-3);
}

}  // namespace
}  // namespace muster::e2e
