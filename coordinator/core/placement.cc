#include "coordinator/core/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

// How many nodes a shortage names.
constexpr size_t kNodesNamed = 8;

std::string DeviceName(v1::Device device) { return device == v1::GPU ? "GPU" : "CPU"; }

int SlotsOf(const Node& node, v1::Device device) {
  int slots = 0;
  for (const v1::Slot& slot : node.record.slots()) slots += slot.device() == device ? 1 : 0;
  return slots;
}

// Slot indices of `node` taken by jobs other than `except`, and those jobs.
std::map<int, JobId> Taken(const State& state, const NodeId& node, const Job* except) {
  std::map<int, JobId> taken;
  for (const auto& [number, id] : state.unfinished) {
    const Job& job = state.jobs.at(id);
    if (!job.gang.has_value() || &job == except) continue;
    for (const Worker& worker : job.gang->workers) {
      if (worker.node == node) taken[worker.slot] = id;
    }
  }
  return taken;
}

// Why the node is no candidate.
std::string WhyNot(const State& state, const Job& job, const NodeId& id, const Node& node) {
  if (StateOf(node) == v1::NODE_LOST) return absl::StrCat(id.value(), " is lost");
  if (StateOf(node) == v1::NODE_UNREACHABLE) return absl::StrCat(id.value(), " is unreachable");
  if (auto it = job.avoided.find(id); it != job.avoided.end()) {
    return absl::StrCat(id.value(), " is avoided until ", TimeOfDay(it->second.until), " (", it->second.why, ")");
  }
  const int slots = SlotsOf(node, job.record.spec().device());
  const std::string device = DeviceName(job.record.spec().device());
  if (slots < job.record.spec().slots_per_node()) {
    return absl::StrCat(id.value(), " has ", slots == 0 ? "no" : absl::StrCat("only ", slots), " ", device, " slot",
                        slots == 1 ? "" : "s");
  }
  std::set<std::string> jobs;
  for (const auto& [slot, other] : Taken(state, id, &job)) jobs.insert(other.value());
  return absl::StrCat(id.value(), " is busy with ", absl::StrJoin(jobs, ", "));
}

}  // namespace

std::vector<int> SlotsInUse(const State& state, const NodeId& node) {
  std::vector<int> slots;
  for (const auto& [slot, job] : Taken(state, node, nullptr)) slots.push_back(slot);
  return slots;
}

std::vector<Candidate> CandidatesFor(const State& state, const Job& job) {
  std::vector<Candidate> candidates;
  const size_t wanted = static_cast<size_t>(job.record.spec().slots_per_node());
  for (const auto& [id, node] : state.nodes) {
    if (StateOf(node) != v1::NODE_READY || job.avoided.count(id) > 0) continue;
    const std::map<int, JobId> taken = Taken(state, id, &job);
    std::set<int> free;
    for (const v1::Slot& slot : node.record.slots()) {
      if (slot.device() == job.record.spec().device() && taken.count(slot.index()) == 0) free.insert(slot.index());
    }
    if (free.size() < wanted) continue;
    Candidate candidate{id, {}, static_cast<int>(free.size() - wanted)};
    for (int slot : free) {
      if (candidate.slots.size() < wanted) candidate.slots.push_back(slot);
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

bool CouldRun(const State& state, const Job& job) {
  const v1::JobSpec& spec = job.record.spec();
  int nodes = 0;
  for (const auto& [id, node] : state.nodes) {
    if (StateOf(node) == v1::NODE_READY && SlotsOf(node, spec.device()) >= spec.slots_per_node()) ++nodes;
  }
  return nodes >= spec.nodes().min();
}

std::vector<v1::PlacedNode> Place(const Job& job, std::vector<Candidate> candidates) {
  std::map<NodeId, int> old_rank;
  for (int i = 0; i < job.record.last_nodes_size(); ++i) old_rank[NodeId(job.record.last_nodes(i))] = i;
  const auto rank_of = [&](const Candidate& c) {
    auto it = old_rank.find(c.node);
    return it == old_rank.end() ? job.record.last_nodes_size() : it->second;
  };
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    return std::make_pair(rank_of(a), a.spare) < std::make_pair(rank_of(b), b.spare);
  });
  const size_t count = std::min<size_t>(candidates.size(), job.record.spec().nodes().max());
  candidates.resize(count);

  std::vector<const Candidate*> by_rank(count, nullptr);
  std::vector<const Candidate*> others;
  for (const Candidate& candidate : candidates) {
    const size_t rank = static_cast<size_t>(rank_of(candidate));
    if (rank < count && old_rank.count(candidate.node) > 0) {
      by_rank[rank] = &candidate;
    } else {
      others.push_back(&candidate);
    }
  }
  auto next = others.begin();
  for (const Candidate*& place : by_rank) {
    if (place == nullptr) place = *next++;
  }

  std::vector<v1::PlacedNode> placed;
  for (size_t node_rank = 0; node_rank < count; ++node_rank) {
    v1::PlacedNode node;
    node.set_node_id(by_rank[node_rank]->node.value());
    node.set_node_rank(static_cast<int>(node_rank));
    const std::vector<int>& slots = by_rank[node_rank]->slots;
    for (size_t local = 0; local < slots.size(); ++local) {
      v1::LocalWorker* worker = node.add_workers();
      worker->set_rank(static_cast<int>(node_rank * slots.size() + local));
      worker->set_local_rank(static_cast<int>(local));
      worker->set_slot(slots[local]);
    }
    placed.push_back(std::move(node));
  }
  return placed;
}

std::string DescribeShortage(const State& state, const Job& job, const std::vector<Candidate>& candidates) {
  const v1::JobSpec& spec = job.record.spec();
  std::set<NodeId> fit;
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) {
    fit.insert(candidate.node);
    names.push_back(candidate.node.value());
  }
  const std::string what = absl::StrCat("free ", DeviceName(spec.device()), " slot");
  std::string out = absl::StrCat("needs ", Count(spec.nodes().min(), "node"), " with ",
                                 Count(spec.slots_per_node(), what), spec.nodes().min() == 1 ? "" : " each");
  if (state.nodes.empty()) return absl::StrCat(out, "; no node has registered yet");
  absl::StrAppend(&out, "; ", names.empty() ? "none" : absl::StrCat(names.size()), " of ",
                  Count(static_cast<int>(state.nodes.size()), "node"), names.size() > 1 ? " have" : " has",
                  spec.slots_per_node() == 1 ? " one" : " them");
  if (!names.empty()) absl::StrAppend(&out, ": ", absl::StrJoin(names, ", "));
  size_t named = 0;
  size_t unnamed = 0;
  for (const auto& [id, node] : state.nodes) {
    if (fit.count(id) > 0) continue;
    if (named == kNodesNamed) {
      ++unnamed;
      continue;
    }
    ++named;
    absl::StrAppend(&out, "; ", WhyNot(state, job, id, node));
  }
  if (unnamed > 0) absl::StrAppend(&out, "; and ", unnamed, " more nodes that do not fit");
  return out;
}

}  // namespace muster::coordinator
