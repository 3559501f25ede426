#include "common/spec/job_spec.h"

#include <functional>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

v1::JobSpec Parse(const std::string& text) {
  v1::JobSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

v1::JobSpec SmallTrain() {
  return Parse(R"pb(
    name: "gpt"
    nodes { min: 2 max: 4 }
    train {
      data { train: "/data/train.bin" }
      steps: 500
    }
    checkpoint { dir: "/ckpt" }
  )pb");
}

v1::JobSpec SmallCommand() { return Parse(R"pb(name: "hello" command: "python3" command: "train.py")pb"); }

TEST(ApplyDefaults, TrainJobIsWholeAndValid) {
  v1::JobSpec spec = SmallTrain();
  ApplyDefaults(&spec);
  v1::JobSpec expected = Parse(R"pb(
    name: "gpt"
    nodes { min: 2 max: 4 }
    slots_per_node: 1
    device: CPU
    train {
      model { layers: 4 heads: 4 channels: 128 vocab: 256 context: 128 }
      data { train: "/data/train.bin" format: AUTO }
      batch { global: 32 micro: 8 }
      optimizer { beta1: 0.9 beta2: 0.95 eps: 1e-8 weight_decay: 0.1 clip: 1.0 }
      schedule { lr: 0.001 min_lr: 0.0001 warmup_steps: 50 decay_steps: 500 }
      steps: 500
      seed: 1
      eval { every: 0 batches: 8 }
      sample { every: 0 tokens: 0 prompt: "\n" temperature: 0.8 }
      sharding: ZERO1
    }
    checkpoint { dir: "/ckpt" every: 100 keep: 3 }
    restarts { user: 3 infrastructure: 100 }
    elastic { cooldown { seconds: 10 } }
    grace { seconds: 10 }
  )pb");
  // lr / 10 is not the nearest double to the decimal; compare what was meant.
  expected.mutable_train()->mutable_schedule()->set_min_lr(1e-3 / 10);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(spec, expected)) << spec.DebugString();
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec);
}

TEST(ApplyDefaults, CommandJobGetsNoTrainerFields) {
  v1::JobSpec spec = SmallCommand();
  ApplyDefaults(&spec);
  EXPECT_FALSE(spec.has_train());
  EXPECT_FALSE(spec.has_checkpoint());
  EXPECT_EQ(spec.nodes().max(), 1);
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec);
}

TEST(ApplyDefaults, AppliedTwiceChangesNothingMore) {
  for (v1::JobSpec spec : {SmallTrain(), SmallCommand(), v1::JobSpec()}) {
    ApplyDefaults(&spec);
    v1::JobSpec again = spec;
    ApplyDefaults(&again);
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(spec, again)) << again.DebugString();
  }
}

TEST(ApplyDefaults, FieldsThatAreSetStay) {
  v1::JobSpec spec = SmallTrain();
  spec.mutable_restarts()->set_user(0);
  spec.mutable_train()->mutable_optimizer()->set_clip(0);
  spec.mutable_train()->mutable_schedule()->set_warmup_steps(0);
  spec.mutable_grace();
  ApplyDefaults(&spec);
  EXPECT_EQ(spec.restarts().user(), 0);
  EXPECT_EQ(spec.train().optimizer().clip(), 0);
  EXPECT_EQ(spec.train().schedule().warmup_steps(), 0);
  EXPECT_EQ(spec.grace().seconds(), 0);
}

struct BadSpec {
  // Merged into (repeated fields: added to) the valid spec.
  std::string change;
  std::string message;
};

void ExpectMessages(const v1::JobSpec& valid, const std::vector<BadSpec>& cases) {
  for (const BadSpec& bad : cases) {
    v1::JobSpec spec = valid;
    spec.MergeFrom(Parse(bad.change));
    ApplyDefaults(&spec);
    absl::Status status = Validate(spec);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.change;
    EXPECT_EQ(std::string(status.message()), bad.message) << bad.change;
  }
}

TEST(Validate, BadTrainJobNamesFieldFaultAndRemedy) {
  ExpectMessages(
      SmallTrain(),
      {
          {R"(name: "GPT")",
           "name: \"GPT\"; use lower-case letters, digits and -, with a letter or digit at both ends"},
          {R"(name: "a-")", "name: \"a-\"; use lower-case letters, digits and -, with a letter or digit at both ends"},
          {R"(name: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")", "name: 41 characters long; use at most 40"},
          {"nodes { min: 0 }", "nodes.min: 0; a job needs at least 1 node, and at most 100000"},
          {"nodes { min: 5 max: 2 }", "nodes.max: 2 is below nodes.min 5; raise max or lower min"},
          {"slots_per_node: 0", "slots_per_node: 0; a node needs at least 1"},
          {"slots_per_node: 2000", "slots_per_node: 2000; use at most 1024 a node"},
          {"device: GPU", "device: gpu: the native trainer runs on cpu in this release; use a command, or device: cpu"},
          {R"(command: "true")", "train: given together with command; a job runs one of them, so remove the other"},
          {"train { model { layers: 0 } }", "train.model.layers: 0; use 1 to 10000"},
          {"train { model { heads: -1 } }", "train.model.heads: -1; use 1 to 1048576"},
          {"train { model { channels: 130 } }",
           "train.model.channels: 130 is not a multiple of model.heads 4; use 128 or 132"},
          {"train { model { channels: 2 } }", "train.model.channels: 2 is not a multiple of model.heads 4; use 4"},
          {"train { model { vocab: 0 } }", "train.model.vocab: 0; use 1 to 1073741824"},
          {"train { model { context: 0 } }", "train.model.context: 0; use 1 to 16777216"},
          {R"(train { data { train: "data/a.bin" } })",
           "train.data.train: \"data/a.bin\" is not an absolute path; workers start in folders of their own, so begin "
           "it "
           "with /"},
          {R"(train { data { val: "v.bin" } })",
           "train.data.val: \"v.bin\" is not an absolute path; workers start in folders of their own, so begin it with "
           "/"},
          {"train { data { format: RAW_U16 } model { vocab: 100000 } }",
           "train.data.format: raw_u16 holds tokens below 65536, model.vocab is 100000; lower vocab, or use files with "
           "a "
           "header and format auto"},
          {"train { batch { global: 0 } }", "train.batch.global: 0; a step needs at least 1 sequence"},
          {"train { batch { micro: 0 } }",
           "train.batch.micro: 0; a forward and backward pass needs at least 1 sequence"},
          {"train { batch { global: 30 } }", "train.batch.global: 30 is not a multiple of batch.micro 8; use 24 or 32"},
          {"train { batch { global: 4 } }",
           "train.batch.global: 4 is not a multiple of batch.micro 8; use 8, or lower micro"},
          {"slots_per_node: 2",
           "train.batch.global: 32 is 4 micro-batches of 8, fewer than the 8 ranks at nodes.max 4; raise it to 64, or "
           "lower batch.micro or nodes.max"},
          {"train { optimizer { beta1: 1 } }", "train.optimizer.beta1: 1; use 0 or more and less than 1"},
          {"train { optimizer { beta2: -0.1 } }", "train.optimizer.beta2: -0.1; use 0 or more and less than 1"},
          {"train { optimizer { eps: 0 } }", "train.optimizer.eps: 0; use more than 0"},
          {"train { optimizer { weight_decay: -1 } }", "train.optimizer.weight_decay: -1; use 0 or more"},
          {"train { optimizer { clip: nan } }", "train.optimizer.clip: nan; use 0 (no clipping) or more"},
          {"train { schedule { lr: 0 } }", "train.schedule.lr: 0; use more than 0"},
          {"train { schedule { lr: inf min_lr: 0 } }", "train.schedule.lr: inf; use more than 0"},
          {"train { schedule { min_lr: 0.1 } }",
           "train.schedule.min_lr: 0.1 is above schedule.lr 0.001; lower min_lr or raise lr"},
          {"train { schedule { warmup_steps: -1 } }", "train.schedule.warmup_steps: -1; use 0 (no warm-up) or more"},
          {"train { schedule { warmup_steps: 501 } }",
           "train.schedule.warmup_steps: 501 is above schedule.decay_steps 500; the warm-up must end before the decay "
           "does, so lower it"},
          {"train { schedule { decay_steps: 0 } }", "train.schedule.decay_steps: 0; use at least 1"},
          {"train { steps: 0 schedule { decay_steps: 1 } }", "train.steps: 0; train at least 1 step"},
          {"train { steps: 9223372036854775807 }", "train.steps: 9223372036854775807; use at most 288230376151711743"},
          {"train { eval { every: 10 } }",
           "train.eval.every: 10 without train.data.val; give validation data, or remove eval"},
          {"train { eval { every: -1 } }", "train.eval.every: -1; use 0 (never) or more"},
          {"train { eval { batches: 0 } }", "train.eval.batches: 0; an evaluation needs at least 1"},
          {"train { sample { tokens: -1 } }", "train.sample.tokens: -1; use 0 (no text) to 1000000"},
          {"train { sample { every: 5 } }",
           "train.sample.every: 5 without train.sample.tokens; give the number of tokens to make, or remove every"},
          {R"(train { sample { tokens: 5 prompt: "z" } model { vocab: 100 } })",
           "train.sample.prompt: byte 122 is no token below model.vocab 100; use bytes within the vocabulary"},
          {"train { sample { temperature: -1 } }",
           "train.sample.temperature: -1; use 0 (always the likeliest token) or more"},
          {R"(train { sample_log_dir: "log" })",
           "train.sample_log_dir: \"log\" is not an absolute path; workers start in folders of their own, so begin it "
           "with /"},
          {R"(working_dir: "/w")", "working_dir: given together with train; only a command has one, so remove it"},
          {R"(checkpoint { dir: "ckpt" })",
           "checkpoint.dir: \"ckpt\" is not an absolute path; workers start in folders of their own, so begin it with "
           "/"},
          {"checkpoint { every: 0 }", "checkpoint.every: 0; a checkpoint is due every so many steps, at least 1"},
          {"checkpoint { keep: 0 }", "checkpoint.keep: 0; a restart needs one to start from, so keep at least 1"},
          {"restarts { user: -1 }", "restarts.user: -1; use 0 or more"},
          {"restarts { infrastructure: -1 }", "restarts.infrastructure: -1; use 0 or more"},
          {"elastic { cooldown { seconds: -1 } }", "elastic.cooldown: -1s; use 0s to 24h"},
          {"grace { seconds: 90000 }", "grace: 25h; use 0s to 24h"},
      });
}

TEST(Validate, BadCommandJobNamesFieldFaultAndRemedy) {
  ExpectMessages(
      SmallCommand(),
      {
          {R"(working_dir: "w")",
           "working_dir: \"w\" is not an absolute path; workers start in folders of their own, so begin it with /"},
          {R"(env { key: "RANK" value: "1" })", "env.RANK: set by Muster itself; remove it"},
          {R"(env { key: "MUSTER_X" value: "1" })", "env.MUSTER_X: set by Muster itself; remove it"},
          {R"(device: GPU env { key: "CUDA_VISIBLE_DEVICES" value: "1" })",
           "env.CUDA_VISIBLE_DEVICES: set by Muster itself; remove it"},
          {R"(env { key: "1A" value: "1" })",
           "env.1A: not a name of an environment variable; use letters, digits and _, and begin with no digit"},
          {R"(env { key: "A=B" value: "1" })",
           "env.A=B: not a name of an environment variable; use letters, digits and _, and begin with no digit"},
          {R"(env { key: "A" value: "x\000y" })", "env.A: has a NUL byte in it; remove it"},
          {R"(command: "a\000b")", "command[2]: has a NUL byte in it; remove it"},
          {R"(checkpoint { dir: "/c" })",
           "checkpoint: given together with command; a command keeps its own checkpoints, so remove it; tell the "
           "command its folder through env"},
      });
}

TEST(Validate, MissingPartsAreNamed) {
  ExpectMessages(
      v1::JobSpec(),
      {
          {"", "name: missing; give the job a name, such as gpt-small"},
          {R"(name: "a")", "train: missing; give either train or command"},
          {R"(name: "a" command: "")", "command[0]: empty; begin with a program, found in PATH or by an absolute path"},
          {R"(name: "a" train {})",
           "train.data.train: missing; give a token file or a glob; `musterctl data pack` makes one"},
          {R"(name: "a" train { data { train: "/d" } })",
           "train.steps: missing; give the number of optimizer steps to train"},
          {R"(name: "a" train { data { train: "/d" } steps: 5 })",
           "checkpoint.dir: missing; give a folder that every node of the job sees, as an absolute path"},
      });
}

TEST(Validate, CommandOnGpusPasses) {
  v1::JobSpec spec = SmallCommand();
  spec.set_device(v1::GPU);
  (*spec.mutable_env())["OMP_NUM_THREADS"] = "1";
  ApplyDefaults(&spec);
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec);
}

}  // namespace
}  // namespace muster
