#include "common/spec/yaml_spec.h"

#include <string>

#include "common/spec/job_spec.h"
#include "common/spec/near_name.h"
#include "common/spec/utf8.h"
#include "common/spec/yaml_print.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using google::protobuf::util::MessageDifferencer;

v1::JobSpec FromText(const std::string& text) {
  v1::JobSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

std::string ErrorOf(const std::string& yaml) {
  absl::StatusOr<ParsedJobSpec> parsed = ParseJobSpecYaml(yaml, "job.yaml");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << yaml;
  return std::string(parsed.status().message());
}

constexpr char kTrain[] = R"(# A comment.
name: gpt
nodes: {min: 2, max: 4}
slots_per_node: 1
device: cpu
train:
  model: {layers: 2, vocab: 256}
  data:
    train: /data/*.bin
    format: raw_u16
  schedule:
    lr: 3e-4
  steps: 500
  seed: 18446744073709551615
  sample:
    prompt: "a\nb"
  sharding: zero1
env:
  OMP_NUM_THREADS: 1
  EMPTY: ""
checkpoint:
  dir: /ckpt
restarts:
elastic:
  cooldown: 1m30s
grace: 500ms
)";

TEST(ParseJobSpecYaml, EveryKindOfFieldIsRead) {
  absl::StatusOr<ParsedJobSpec> parsed = ParseJobSpecYaml(kTrain, "job.yaml");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  v1::JobSpec expected = FromText(R"pb(
    name: "gpt"
    nodes { min: 2 max: 4 }
    slots_per_node: 1
    device: CPU
    train {
      model { layers: 2 vocab: 256 }
      data { train: "/data/*.bin" format: RAW_U16 }
      schedule { lr: 3e-4 }
      steps: 500
      seed: 18446744073709551615
      sample { prompt: "a\nb" }
      sharding: ZERO1
    }
    env { key: "OMP_NUM_THREADS" value: "1" }
    env { key: "EMPTY" value: "" }
    checkpoint { dir: "/ckpt" }
    restarts {}
    elastic { cooldown { seconds: 90 } }
    grace { nanos: 500000000 }
  )pb");
  EXPECT_TRUE(MessageDifferencer::Equals(parsed->spec, expected)) << parsed->spec.DebugString();
  EXPECT_EQ(parsed->places.at("train.model.layers"), "job.yaml:7:11");
}

TEST(ParseJobSpecYaml, CommandIsReadFromEitherKindOfList) {
  for (const char* yaml : {"name: a\ncommand: [echo, hi]\n", "name: a\ncommand:\n  - echo\n  - hi\n"}) {
    absl::StatusOr<ParsedJobSpec> parsed = ParseJobSpecYaml(yaml, "job.yaml");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(MessageDifferencer::Equals(parsed->spec, FromText(R"(name: "a" command: "echo" command: "hi")")));
  }
}

TEST(ParseJobSpecYaml, JsonAsPrintedIsReadBack) {
  v1::JobSpec spec = ParseJobSpecYaml(kTrain, "job.yaml")->spec;
  ApplyDefaults(&spec);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(spec, &json, options).ok());
  absl::StatusOr<ParsedJobSpec> again = ParseJobSpecYaml(json, "job.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(MessageDifferencer::Equals(again->spec, spec)) << json;
}

TEST(JobSpecToYaml, ReadBackItIsTheSame) {
  v1::JobSpec train = ParseJobSpecYaml(kTrain, "job.yaml")->spec;
  ApplyDefaults(&train);
  v1::JobSpec command = FromText(R"pb(
    name: "n"
    command: "sh"
    command: "-c"
    command: "echo \"a b\" # \\ 'c'\n"
    command: ""
    command: "-1"
    command: "\t\001"
    env { key: "A" value: "true" }
    env { key: "B" value: "\303\251: x" }
    env { key: "y" value: "1e3" }
    grace { seconds: 1 nanos: 500000000 }
  )pb");
  for (const v1::JobSpec& spec : {train, command}) {
    absl::StatusOr<ParsedJobSpec> again = ParseJobSpecYaml(JobSpecToYaml(spec), "out.yaml");
    ASSERT_TRUE(again.ok()) << again.status() << JobSpecToYaml(spec);
    EXPECT_TRUE(MessageDifferencer::Equals(again->spec, spec)) << JobSpecToYaml(spec) << again->spec.DebugString();
  }
  EXPECT_NE(JobSpecToYaml(train).find("\n  schedule:\n    lr: 0.0003\n"), std::string::npos) << JobSpecToYaml(train);
}

TEST(ParseJobSpecYaml, UnknownFieldNamesTheOneMeant) {
  EXPECT_EQ(ErrorOf("name: a\ntrain:\n  modle:\n    layers: 2\n"),
            "job.yaml:3:3: train.modle: unknown field; did you mean model?");
  EXPECT_EQ(ErrorOf("nmae: a\n"), "job.yaml:1:1: nmae: unknown field; did you mean name?");
  EXPECT_EQ(ErrorOf("slotsPerNode: 2\n"), "job.yaml:1:1: slotsPerNode: unknown field; did you mean slots_per_node?");
  EXPECT_EQ(ErrorOf("train: {lr: 0.1}\n"), "job.yaml:1:9: train.lr: unknown field; did you mean schedule.lr?");
  EXPECT_EQ(ErrorOf("nodes: {wibble: 2}\n"), "job.yaml:1:9: nodes.wibble: unknown field; known are min, max");
}

TEST(ParseJobSpecYaml, FieldGivenTwiceNamesBothPlaces) {
  EXPECT_EQ(ErrorOf("name: a\ngrace: 1s\nname: b\n"),
            "job.yaml:3:1: name: given twice, first at job.yaml:1:1; remove one");
  EXPECT_EQ(ErrorOf("env:\n  A: 1\n  A: 2\n"), "job.yaml:3:3: env.A: given twice, first at job.yaml:2:3; remove one");
}

TEST(ParseJobSpecYaml, WrongTypeIsNamed) {
  EXPECT_EQ(ErrorOf("nodes: {min: two}\n"),
            "job.yaml:1:14: nodes.min: \"two\" is not a whole number; give one in decimal digits, such as 8");
  EXPECT_EQ(ErrorOf("slots_per_node: 1.5\n"),
            "job.yaml:1:17: slots_per_node: \"1.5\" is not a whole number; give one in decimal digits, such as 8");
  EXPECT_EQ(ErrorOf("train:\n  schedule:\n    lr: fast\n"),
            "job.yaml:3:9: train.schedule.lr: \"fast\" is not a number; give one, such as 0.1 or 3e-4");
  EXPECT_EQ(ErrorOf("nodes: 3\n"), "job.yaml:1:8: nodes: not a mapping; give fields of it, such as min: ...");
  EXPECT_EQ(ErrorOf("command: echo hi\n"), "job.yaml:1:10: command: not a list; give one, such as command: [a, b]");
  EXPECT_EQ(ErrorOf("command: [[a]]\n"),
            "job.yaml:1:11: command[0]: a list, where a single value belongs; give one value");
  EXPECT_EQ(ErrorOf("name: {a: b}\n"), "job.yaml:1:7: name: a mapping, where a single value belongs; give one value");
  EXPECT_EQ(ErrorOf("env: [A]\n"), "job.yaml:1:6: env: not a mapping; give one, such as env: {NAME: value}");
  EXPECT_EQ(ErrorOf("- a\n"), "job.yaml:1:1: not a mapping; give fields of it, such as name: ...");
  EXPECT_EQ(ErrorOf("slots_per_node:\n"), "job.yaml:1:1: slots_per_node: has no value; give one, or remove the field");
  EXPECT_EQ(ErrorOf("env:\n  A:\n"), "job.yaml:2:3: env.A: has no value; give one, \"\" for empty text, or remove it");
}

TEST(ParseJobSpecYaml, NumberOutOfRangeNamesTheRange) {
  EXPECT_EQ(ErrorOf("slots_per_node: 3000000000\n"),
            "job.yaml:1:17: slots_per_node: 3000000000 is out of range; use -2147483648 to 2147483647");
  EXPECT_EQ(ErrorOf("train: {seed: -1}\n"),
            "job.yaml:1:15: train.seed: -1 is out of range; use 0 to 18446744073709551615");
  EXPECT_EQ(ErrorOf("train: {steps: 99999999999999999999}\n"),
            "job.yaml:1:16: train.steps: 99999999999999999999 is out of range; use -9223372036854775808 to "
            "9223372036854775807");
}

TEST(ParseJobSpecYaml, EnumNamesItsValues) {
  EXPECT_EQ(ErrorOf("device: gpus\n"), "job.yaml:1:9: device: \"gpus\" is none of cpu, gpu; did you mean gpu?");
  EXPECT_EQ(ErrorOf("train: {sharding: device_unspecified}\n"),
            "job.yaml:1:19: train.sharding: \"device_unspecified\" is none of none, zero1; use one of them");
}

TEST(ParseJobSpecYaml, BadDurationNamesTheForm) {
  EXPECT_EQ(ErrorOf("grace: 10\n"),
            "job.yaml:1:8: grace: \"10\" is not a duration; give a number and a unit, such as 10s, 500ms or 2m");
  EXPECT_EQ(ErrorOf("grace: inf\n"),
            "job.yaml:1:8: grace: \"inf\" is not a duration; give a number and a unit, such as 10s, 500ms or 2m");
  EXPECT_EQ(ErrorOf("grace: [1]\n"),
            "job.yaml:1:8: grace: not a duration; give a number and a unit, such as 10s, 500ms or 2m");
}

TEST(ParseJobSpecYaml, NoSpecAtAllIsOneLine) {
  EXPECT_EQ(ErrorOf(""), "job.yaml: empty; see docs/job_spec.md for an example");
  EXPECT_EQ(ErrorOf("# nothing\n"), "job.yaml: empty; see docs/job_spec.md for an example");
  EXPECT_EQ(ErrorOf("name: a\n---\nname: b\n"), "job.yaml:3:1: a second document; give each job a file of its own");
  EXPECT_EQ(ErrorOf("name: [a\n"), "job.yaml:2:1: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(ErrorOf("name: *nobody\n"), "job.yaml:1:7: not valid YAML: the referenced anchor is not defined");
  EXPECT_EQ(ErrorOf("name: a\n\tgrace: 1s\n").find('\n'), std::string::npos);
  EXPECT_EQ(ErrorOf("name: \xff\n"), "job.yaml:1:7: name: not valid UTF-8; write it in UTF-8");
  EXPECT_EQ(ErrorOf(std::string(2 << 20, '#')),
            "job.yaml: 2097152 bytes; a job spec has at most 1048576, is this the right file?");
}

TEST(SetJobSpecField, PathsReachEveryDepth) {
  v1::JobSpec spec = FromText(R"(name: "a" train { model { heads: 2 } } command: "old")");
  for (const char* assignment : {"name=b", "train.model.layers=8", "nodes.min=2", "env.A=x=y", "command=[echo, hi]",
                                 "grace=3s", "device=gpu", "train.data={train: /d}"}) {
    EXPECT_TRUE(SetJobSpecField(assignment, &spec).ok()) << SetJobSpecField(assignment, &spec);
  }
  EXPECT_TRUE(MessageDifferencer::Equals(spec, FromText(R"pb(
                                           name: "b"
                                           nodes { min: 2 }
                                           device: GPU
                                           train {
                                             model { layers: 8 heads: 2 }
                                             data { train: "/d" }
                                           }
                                           command: "echo"
                                           command: "hi"
                                           env { key: "A" value: "x=y" }
                                           grace { seconds: 3 }
                                         )pb")))
      << spec.DebugString();
}

TEST(SetJobSpecField, BadAssignmentIsNamed) {
  v1::JobSpec spec;
  auto error = [&](const char* assignment) { return std::string(SetJobSpecField(assignment, &spec).message()); };
  EXPECT_EQ(error("nodes.min"),
            "--set nodes.min: not an assignment; give a field's path and its value, such as nodes.min=2");
  EXPECT_EQ(error("train.modle.layers=2"),
            "--set train.modle.layers=2: train.modle: unknown field; did you mean model?");
  EXPECT_EQ(error("name.x=2"), "--set name.x=2: name: has no fields in it; end the path here");
  EXPECT_EQ(error("grace.seconds=2"), "--set grace.seconds=2: grace: has no fields in it; end the path here");
  EXPECT_EQ(error("nodes.min=x"),
            "--set nodes.min=x: nodes.min: \"x\" is not a whole number; give one in decimal digits, such as 8");
}

TEST(WithPlace, FindsTheFieldOrTheNearestAroundIt) {
  v1::JobSpec spec;
  ParsedJobSpec parsed = *ParseJobSpecYaml("name: a\nnodes:\n  min: 4\n  max: 2\ntrain:\n  data:\n", "job.yaml");
  auto placed = [&](const char* message) {
    return std::string(WithPlace(absl::InvalidArgumentError(message), parsed.places).message());
  };
  EXPECT_EQ(placed("nodes.max: 2 is below"), "job.yaml:4:3: nodes.max: 2 is below");
  EXPECT_EQ(placed("train.data.train: missing"), "job.yaml:6:3: train.data.train: missing");
  EXPECT_EQ(placed("checkpoint.dir: missing"), "job.yaml: checkpoint.dir: missing");
}

TEST(NearName, SlipsAreFoundAndStrangersAreNot) {
  EXPECT_EQ(EditDistance("modle", "model"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(NearName("stesp", {"seed", "steps"}), "steps");
  EXPECT_EQ(NearName("xyz", {"seed", "steps"}), "");
  EXPECT_EQ(NearName("q", {"a", "b"}), "");
}

TEST(IsValidUtf8, KnowsEachKindOfFault) {
  EXPECT_TRUE(IsValidUtf8("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80"));
  EXPECT_FALSE(IsValidUtf8("\x80"));
  EXPECT_FALSE(IsValidUtf8("\xC0\xAF"));
  EXPECT_FALSE(IsValidUtf8("\xE2\x82"));
  EXPECT_FALSE(IsValidUtf8("\xED\xA0\x80"));
  EXPECT_FALSE(IsValidUtf8("\xF4\x90\x80\x80"));
  v1::JobSpec spec;
  spec.add_command("ok");
  spec.add_command("\xff");
  EXPECT_EQ(std::string(CheckUtf8(spec).message()),
            "command[1]: not valid UTF-8; write it in UTF-8, or put the bytes into a file");
}

}  // namespace
}  // namespace muster
