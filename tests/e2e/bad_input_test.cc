// Bad input: one line that names the thing and the remedy, an exit code, and nothing half created.
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

void ExpectOneLine(const std::string& text, const std::vector<std::string>& parts) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 1u) << text;
  for (const std::string& part : parts) EXPECT_THAT(text, HasSubstr(part));
}

// One cluster for all specs: none of them may leave anything in it.
class BadSpec : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster();
    data_ = new std::string(cluster_->PackData());
  }
  static void TearDownTestSuite() {
    delete cluster_;
    delete data_;
  }

  // `good` with `from` replaced by `to` is refused, in one line with all of `parts`.
  void ExpectRefused(const std::string& from, const std::string& to, const std::vector<std::string>& parts) {
    TrainJob job;
    job.data = *data_;
    job.checkpoints = cluster_->dir() + "/ckpt";
    const std::string good = job.Yaml();
    ASSERT_THAT(good, HasSubstr(from));
    const std::string path = cluster_->Write("bad.yaml", absl::StrReplaceAll(good, {{from, to}}));
    const CtlResult result = cluster_->Ctl({"submit", path});
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_EQ(result.out, "");
    ExpectOneLine(result.err, parts);
    EXPECT_THAT(cluster_->Ctl({"list", "--json"}).out, ::testing::Not(HasSubstr("job_id"))) << "a job was made";
    EXPECT_FALSE(std::filesystem::exists(job.checkpoints));
  }

  // A token file of llm.c's format: 256 int32 of header, then uint16 tokens.
  static std::string TokenFile(const std::string& name, int32_t magic, int32_t tokens_said, int tokens,
                               uint16_t token) {
    std::vector<int32_t> header(256);
    header[0] = magic;
    header[1] = 1;
    header[2] = tokens_said;
    const std::vector<uint16_t> body(tokens, token);
    return cluster_->Write(name,
                           std::string(reinterpret_cast<const char*>(header.data()), header.size() * sizeof(int32_t)) +
                               std::string(reinterpret_cast<const char*>(body.data()), body.size() * sizeof(uint16_t)));
  }

  static Cluster* cluster_;
  static std::string* data_;
};

Cluster* BadSpec::cluster_ = nullptr;
std::string* BadSpec::data_ = nullptr;

TEST_F(BadSpec, MisspeltFieldIsNamedWithTheOneMeant) {
  ExpectRefused("nodes: {", "nodse: {", {"nodse", "nodes", "bad.yaml"});
}
TEST_F(BadSpec, UnknownFieldIsNamed) { ExpectRefused("nodes: {", "colour: blue\nnodes: {", {"colour"}); }
TEST_F(BadSpec, WrongTypeIsNamed) { ExpectRefused("steps: 100", "steps: many", {"steps", "many"}); }
TEST_F(BadSpec, MinAboveMaxIsNamed) { ExpectRefused("{min: 1, max: 1}", "{min: 4, max: 2}", {"nodes", "4", "2"}); }
TEST_F(BadSpec, ZeroGpusAreRefused) {
  ExpectRefused("slots_per_node: 1", "device: gpu\nslots_per_node: 0", {"slots_per_node", "0"});
}
TEST_F(BadSpec, MissingCommandIsRefused) {
  const CtlResult result = cluster_->Ctl({"submit", cluster_->Write("empty.yaml", "name: nothing\n")});
  EXPECT_EQ(result.code, 2);
  ExpectOneLine(result.err, {"command", "train"});
}
TEST_F(BadSpec, MissingDataIsRefused) {
  ExpectRefused(absl::StrCat("data: {train: ", *data_, "-train.bin, val: ", *data_, "-val.bin}"), "data: {}",
                {"train.data.train"});
}
TEST_F(BadSpec, BatchThatDoesNotDivideIsRefused) {
  ExpectRefused("{global: 16, micro: 2}", "{global: 15, micro: 2}", {"batch", "15", "2"});
}
TEST_F(BadSpec, WrongMagicIsNamed) {
  const std::string path = TokenFile("magic.bin", 12345, 1000, 1000, 7);
  ExpectRefused(*data_ + "-train.bin", path, {path, "12345"});
}
TEST_F(BadSpec, TokenBeyondTheVocabularyIsNamed) {
  const std::string path = TokenFile("vocab.bin", 20240520, 1000, 1000, 999);
  ExpectRefused(*data_ + "-train.bin", path, {path, "999", "256"});
}
TEST_F(BadSpec, TruncatedTokenFileIsNamed) {
  const std::string path = TokenFile("truncated.bin", 20240520, 1000, 400, 7);
  ExpectRefused(*data_ + "-train.bin", path, {path, "1000", "cut"});
}
TEST_F(BadSpec, MissingSpecFileIsNamed) {
  const CtlResult result = cluster_->Ctl({"submit", "/no/such/job.yaml"});
  EXPECT_EQ(result.code, 2);
  ExpectOneLine(result.err, {"/no/such/job.yaml"});
}
TEST_F(BadSpec, BrokenYamlIsNamedWithItsPlace) {
  const CtlResult result = cluster_->Ctl({"submit", cluster_->Write("broken.yaml", "name: a\nnodes: {min: 1\n")});
  EXPECT_EQ(result.code, 2);
  ExpectOneLine(result.err, {"broken.yaml"});
}
TEST_F(BadSpec, UnknownJobIsNamed) {
  const CtlResult result = cluster_->Ctl({"describe", "no-such-job"});
  EXPECT_EQ(result.code, 1);
  ExpectOneLine(result.err, {"no-such-job"});
}

TEST(BadInput, UnreachableCoordinatorIsNamed) {
  Cluster cluster;
  const CtlResult result = cluster.Ctl({"--coordinator", "127.0.0.1:1", "--connect-timeout", "300ms", "list"});
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.out, "");
  ExpectOneLine(result.err, {"127.0.0.1:1"});
}

TEST(BadInput, NameOfAnUnfinishedJobIsRefusedAndFreeAfterwards) {
  Cluster cluster;
  const std::vector<std::string> submit = {"submit", "--name", "twice", "--", "true"};
  EXPECT_EQ(cluster.Ctl(submit).code, 0);
  const CtlResult again = cluster.Ctl(submit);
  EXPECT_NE(again.code, 0);
  ExpectOneLine(again.err, {"twice"});
  EXPECT_EQ(cluster.Ctl({"cancel", "twice"}).code, 0);
  cluster.WaitForState("twice", v1::CANCELLED);
  EXPECT_EQ(cluster.Ctl(submit).code, 0);
}

TEST(BadInput, SecondAgentOfANodeIdIsRefusedAndTheFirstStays) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  Process second = cluster.StartStrayAgent("second", "n1", cluster.address());
  const std::optional<Ended> ended = second.Wait(absl::Seconds(30));
  ASSERT_TRUE(ended.has_value()) << "it goes on";
  EXPECT_NE(ended->code, 0);
  EXPECT_THAT(cluster.Read("second.out") + cluster.Read("second.err"), HasSubstr("n1"));
  EXPECT_EQ(cluster.Nodes()["n1"].state(), v1::NODE_READY);
  const std::string id = cluster.Submit("name: still\ncommand: ['true']\n");
  cluster.WaitForState(id, v1::SUCCEEDED);
}

TEST(BadInput, DataThatIsNotOnTheNodesFailsTheJobForGood) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  TrainJob job;
  job.data = "/no/such/data";
  job.checkpoints = cluster.dir() + "/ckpt";
  const v1::JobDetail failed = cluster.WaitForState(cluster.Submit(job.Yaml()), v1::FAILED);
  EXPECT_EQ(failed.job().generation(), 1) << "a restart would not help";
  ExpectOneLine(failed.failure().message(), {"/no/such/data"});
}

TEST(BadInput, CheckpointFolderThatCannotBeMadeFailsTheJobForGood) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  TrainJob job;
  job.data = cluster.PackData();
  job.checkpoints = cluster.Write("a-file", "") + "/ckpt";
  const v1::JobDetail failed = cluster.WaitForState(cluster.Submit(job.Yaml()), v1::FAILED);
  EXPECT_EQ(failed.job().generation(), 1) << "a restart would not help";
  EXPECT_EQ(failed.job().step(), 0) << "seen before a step was done for nothing";
  ExpectOneLine(failed.failure().message(), {job.checkpoints});
}

}  // namespace
}  // namespace muster::e2e
