#include "tools/musterctl/view/lists.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/proto_time.h"
#include "tools/musterctl/view/table.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

std::string Dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string Age(const google::protobuf::Timestamp& t, absl::Time now) { return WordsOfDuration(now - FromProto(t)); }

// "1/4 cpu, 0/8 gpu": taken of all.
std::string SlotsOf(const v1::NodeView& node) {
  std::map<v1::Device, std::pair<int, int>> used_and_all;
  for (const v1::Slot& slot : node.slots()) {
    auto& [used, all] = used_and_all[slot.device()];
    ++all;
    for (int index : node.slots_in_use()) {
      if (index == slot.index()) ++used;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [device, counts] : used_and_all) {
    parts.push_back(absl::StrFormat("%d/%d %s", counts.first, counts.second, WordOf(device)));
  }
  return Dash(absl::StrJoin(parts, ", "));
}

}  // namespace

std::string RenderJobs(const Style& style, const std::vector<v1::JobView>& jobs, absl::Time now) {
  if (jobs.empty()) return "No jobs. Start one with `musterctl submit`.\n";
  Table table({{"JOB"},
               {"STATE"},
               {"NODES", true},
               {"RANKS", true},
               {"GEN", true},
               {"STEP", true},
               {"LOSS", true},
               {"AGE", true},
               {"REASON"}});
  for (const v1::JobView& job : jobs) {
    bool trains = job.total_steps() > 0;
    table.Add({job.job_id(), Paint(style, ColorOf(job.state()), WordOf(job.state())),
               job.nodes() > 0 ? absl::StrCat(job.nodes()) : "-",
               job.world_size() > 0 ? absl::StrCat(job.world_size()) : "-", absl::StrCat(job.generation()),
               trains ? absl::StrCat(job.step(), "/", job.total_steps()) : "-",
               trains && job.step() > 0 ? absl::StrFormat("%.4f", job.loss()) : "-", Age(job.submitted_at(), now),
               OneLine(job.reason())});
  }
  return table.Render(style);
}

std::string RenderNodes(const Style& style, const std::vector<v1::NodeView>& nodes, absl::Time now) {
  if (nodes.empty()) return "No nodes. Start muster-agent on each node of the cluster.\n";
  Table table({{"NODE"}, {"STATE"}, {"ADDRESS"}, {"SLOTS IN USE"}, {"JOBS"}, {"SEEN", true}, {"VERSION"}, {"REASON"}});
  for (const v1::NodeView& node : nodes) {
    table.Add({node.node_id(), Paint(style, ColorOf(node.state()), WordOf(node.state())), Dash(node.address()),
               SlotsOf(node), Dash(absl::StrJoin(node.jobs(), ",")),
               node.has_last_seen() ? absl::StrCat(Age(node.last_seen(), now), " ago") : "-", Dash(node.version()),
               OneLine(node.reason())});
  }
  return table.Render(style);
}

std::string RenderCheckpoints(const Style& style, const std::vector<v1::StoredCheckpoint>& checkpoints,
                              absl::Time now) {
  if (checkpoints.empty()) return "No checkpoints yet.\n";
  Table table({{"STEP", true}, {"STATE"}, {"GEN", true}, {"RANKS", true}, {"SIZE", true}, {"AGE", true}, {"PATH"}});
  for (const v1::StoredCheckpoint& c : checkpoints) {
    const char* state = c.removing() ? "removing" : c.published() ? "published" : "committed";
    Color color = c.removing() ? Color::kDim : c.published() ? Color::kGreen : Color::kYellow;
    table.Add({absl::StrCat(c.step()), Paint(style, color, state), absl::StrCat(c.generation()),
               absl::StrCat(c.manifest().world_size()), WordsOfBytes(c.bytes()),
               c.has_committed_at() ? Age(c.committed_at(), now) : "-", c.path()});
  }
  return table.Render(style);
}

std::string RenderCluster(const Style& style, const v1::ClusterView& cluster, const std::string& address,
                          absl::Time now) {
  std::string out;
  auto line = [&](absl::string_view name, const std::string& value) {
    absl::StrAppend(&out, Paint(style, Color::kDim, PadRight(name, 14)), value, "\n");
  };
  line("Coordinator", address);
  line("Cluster", cluster.cluster_id());
  line("Version", absl::StrCat(cluster.version(), " (protocol ", cluster.protocol(), ")"));
  line("Started", absl::StrCat(DateAndTime(cluster.started_at()), " (", Age(cluster.started_at(), now), " ago)"));
  line("Nodes", absl::StrCat(cluster.nodes_ready(), " ready"));
  line("Jobs", absl::StrCat(cluster.jobs_unfinished(), " not finished"));
  return out;
}

}  // namespace muster::ctl
