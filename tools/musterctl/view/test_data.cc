#include "tools/musterctl/view/test_data.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace muster::ctl {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

// 2026-12-01 12:00:00 UTC.
constexpr int64_t kNoon = 1796126400;

std::string At(double seconds_before_noon) {
  double t = static_cast<double>(kNoon) - seconds_before_noon;
  int64_t whole = static_cast<int64_t>(t);
  return absl::StrCat("{ seconds: ", whole,
                      " nanos: ", static_cast<int64_t>((t - static_cast<double>(whole)) * 1000 + 0.5), "000000 }");
}

std::string Job() {
  return absl::StrCat(R"pb(
                        job_id: "gpt-7"
                        name: "gpt"
                        state: JOB_RUNNING
                        reason: "step 240 is done"
                        generation: 2
                        world_size: 2
                        nodes: 2
                        step: 240
                        total_steps: 500
                        loss: 2.10431
                        tokens_per_second: 12345.6
                        committed_step: 200
                        restarts { infrastructure: 1 total: 1 } submitted_at)pb",
                      At(192));
}

std::string Ranks() {
  return R"pb(
    ranks { rank: 0 node_id: "node-1" local_rank: 0 state: RUNNING pid: 4711 }
    ranks { rank: 1 node_id: "node-3" local_rank: 0 state: JOINING pid: 815 })pb";
}

std::string Events() {
  return absl::StrCat(
      R"pb(
        events { seq: 1 type: "JobSubmitted" message: "by a client of version 0.1.0" rank: -1 at)pb",
      At(192),
      R"pb(}
           events { seq: 2 type: "GenerationDecided" message: "first start on 3 nodes" generation: 1 rank: -1 at )pb",
      At(191), R"pb(}
                    events { seq: 3 type: "CheckpointCommitted" message: "step 200" generation: 1 rank: -1 at )pb",
      At(62), R"pb(}
                   events { seq: 4 type: "NodeLost" message: "node node-2 lost (connection closed, peers lost rank 1)" generation: 1
             rank: -1 at )pb",
      At(60), R"pb(}
                   events { seq: 5 type: "GenerationDecided" generation: 2 rank: -1
             message: "node node-2 lost; 2 of 3 nodes left, at least 2 needed: shrink to 2" at )pb",
      At(60), " }");
}

}  // namespace

absl::Time Noon() { return absl::FromUnixSeconds(kNoon); }

v1::JobDetail SomeDetail() {
  return Parse<v1::JobDetail>(absl::StrCat(
      "job {", Job(), "}", Ranks(), Events(), R"pb(
        spec {
          name: "gpt"
          nodes { min: 2 max: 3 }
          slots_per_node: 1
          device: CPU
          train { steps: 500 }
          restarts { user: 3 infrastructure: 100 }
        }
        job_uid: "0123456789abcdef"
        val_loss: 2.25
        sample: "The licence\nof \"this\" \033[31mtext"
        generations { generation: 1 cause: CAUSE_FIRST_START reason: "first start: 3 nodes are free" world_size: 3
                      nodes { node_id: "node-1" }
                      nodes { node_id: "node-2" node_rank: 1 }
                      nodes { node_id: "node-3" node_rank: 2 }
                      end_reason: "node node-2 lost (connection closed, peers lost rank 1)"
                      failure {
                        generation: 1
                        rank: 1
                        node_id: "node-2"
                        message: "node node-2 lost"
                        exit { signal: 9 last_lines: "step 250" last_lines: "step 251" }
                      }
                      timeline { detected)pb",
      At(191), " decided ", At(190.99), " ranks_given ", At(190.9), " workers_up ", At(190.2), " first_step ",
      At(189.8), " ended ", At(60), R"pb(}
                                         }
    generations {
      generation: 2 cause: CAUSE_NODE_LOST world_size: 2 restore_step: 200 steps_redone: 51
      reason: "node node-2 lost; 2 of 3 nodes left, at least 2 needed: shrink to 2"
      nodes { node_id: "node-1" } nodes { node_id: "node-3" node_rank: 1 }
      timeline { detected )pb",
      At(60), " decided ", At(59.997), " ranks_given ", At(59.96), " workers_up ", At(59.3), " } }"));
}

v1::JobSnapshot SomeSnapshot() {
  v1::JobSnapshot snapshot = Parse<v1::JobSnapshot>(absl::StrCat("job {", Job(), "}", Ranks(), Events(), R"pb(
    nodes { node_id: "node-1" state: NODE_READY }
    nodes { node_id: "node-2" state: NODE_LOST reason: "connection closed, peers lost rank 1" }
    nodes {
      node_id: "node-3"
      state: NODE_UNREACHABLE
      reason: "connection closed; lost if it is not back by 12:00:03 UTC"
    }
    nodes { node_id: "node-4" state: NODE_READY })pb"));
  for (int step = 113; step <= 240; ++step) {
    v1::StoredStep* stored = snapshot.add_steps();
    stored->set_generation(step <= 200 ? 1 : 2);
    stored->mutable_metrics()->set_step(step);
    stored->mutable_metrics()->set_loss(2.1 + 20.0 / step);
    stored->mutable_metrics()->set_step_seconds(0.2);
    if (step % 100 == 0) stored->mutable_metrics()->set_val_loss(2.25);
  }
  return snapshot;
}

void ExpectGolden(const std::string& name, const std::string& got) {
  if (const char* out = std::getenv("MUSTER_GOLDEN_OUT")) std::ofstream(absl::StrCat(out, "/", name)) << got;
  std::ifstream file(absl::StrCat("tools/musterctl/view/testdata/", name));
  std::stringstream wanted;
  wanted << file.rdbuf();
  EXPECT_EQ(got, wanted.str()) << "testdata/" << name;
}

}  // namespace muster::ctl
