#include "coordinator/core/placement.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

void AddNode(State* state, const std::string& name, int slots, v1::Device device = v1::CPU) {
  Node& node = state->nodes[NodeId(name)];
  node.record.set_node_id(name);
  node.session = SessionId(state->nodes.size());
  for (int i = 0; i < slots; ++i) {
    v1::Slot* slot = node.record.add_slots();
    slot->set_device(device);
    slot->set_index(i);
  }
}

Job& AddJob(State* state, uint64_t number, int min, int max, int slots) {
  const JobId id(absl::StrCat("j-", number));
  Job& job = state->jobs[id];
  state->unfinished[number] = id;
  job.number = number;
  job.record.set_job_id(id.value());
  job.record.mutable_spec()->set_device(v1::CPU);
  job.record.mutable_spec()->mutable_nodes()->set_min(min);
  job.record.mutable_spec()->mutable_nodes()->set_max(max);
  job.record.mutable_spec()->set_slots_per_node(slots);
  return job;
}

void Occupy(Job* job, const std::string& node, int slot) {
  if (!job->gang.has_value()) job->gang.emplace();
  Worker worker;
  worker.node = NodeId(node);
  worker.slot = slot;
  job->gang->workers.push_back(worker);
}

std::vector<std::string> Names(const std::vector<v1::PlacedNode>& placed) {
  std::vector<std::string> names;
  for (const v1::PlacedNode& node : placed) names.push_back(node.node_id());
  return names;
}

TEST(CandidatesFor, TakenSlotsAreLeftOut) {
  State state;
  AddNode(&state, "n1", 2);
  AddNode(&state, "n2", 2);
  Occupy(&AddJob(&state, 1, 1, 1, 1), "n1", 0);
  Job& job = AddJob(&state, 2, 1, 2, 1);
  const std::vector<Candidate> candidates = CandidatesFor(state, job);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].slots, std::vector<int>{1});
  EXPECT_EQ(candidates[1].slots, std::vector<int>{0});
}

TEST(CandidatesFor, OwnSlotsCountAsFree) {
  State state;
  AddNode(&state, "n1", 1);
  Job& job = AddJob(&state, 1, 1, 1, 1);
  Occupy(&job, "n1", 0);
  EXPECT_EQ(CandidatesFor(state, job).size(), 1u);
}

TEST(CandidatesFor, LostUnreachableAvoidedAndOtherDevicesAreLeftOut) {
  State state;
  AddNode(&state, "lost", 1);
  state.nodes.at(NodeId("lost")).record.set_lost(true);
  AddNode(&state, "unreachable", 1);
  state.nodes.at(NodeId("unreachable")).session.reset();
  AddNode(&state, "avoided", 1);
  AddNode(&state, "gpu", 1, v1::GPU);
  Job& job = AddJob(&state, 1, 1, 1, 1);
  job.avoided[NodeId("avoided")] = {absl::UnixEpoch(), "why"};
  EXPECT_TRUE(CandidatesFor(state, job).empty());
  EXPECT_EQ(DescribeShortage(state, job, {}),
            "needs 1 node with 1 free CPU slot; none of 4 nodes has one; avoided is avoided until 00:00:00.000 UTC "
            "(why); gpu has no CPU slots; lost is lost; unreachable is unreachable");
}

TEST(Place, NewcomersWithLeastToSpareComeFirst) {
  State state;
  AddNode(&state, "large", 8);
  AddNode(&state, "small", 1);
  Job& job = AddJob(&state, 1, 1, 1, 1);
  EXPECT_EQ(Names(Place(job, CandidatesFor(state, job))), std::vector<std::string>{"small"});
}

TEST(Place, FormerNodesKeepTheirRankAndNewcomersTakeHoles) {
  State state;
  for (const char* name : {"a", "b", "c", "d"}) AddNode(&state, name, 1);
  Job& job = AddJob(&state, 1, 1, 3, 1);
  for (const char* name : {"d", "gone", "b"}) job.record.add_last_nodes(name);
  EXPECT_EQ(Names(Place(job, CandidatesFor(state, job))), (std::vector<std::string>{"d", "a", "b"}));
}

TEST(Place, RanksAreByNodeThenSlot) {
  State state;
  AddNode(&state, "n1", 2);
  AddNode(&state, "n2", 2);
  Job& job = AddJob(&state, 1, 2, 2, 2);
  const std::vector<v1::PlacedNode> placed = Place(job, CandidatesFor(state, job));
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_EQ(placed[1].node_rank(), 1);
  EXPECT_EQ(placed[1].workers(0).rank(), 2);
  EXPECT_EQ(placed[1].workers(0).local_rank(), 0);
  EXPECT_EQ(placed[1].workers(1).rank(), 3);
  EXPECT_EQ(placed[1].workers(1).slot(), 1);
}

TEST(CouldRun, LooksAtAllSlotsTakenOrNot) {
  State state;
  AddNode(&state, "n1", 1);
  Occupy(&AddJob(&state, 1, 1, 1, 1), "n1", 0);
  EXPECT_TRUE(CouldRun(state, AddJob(&state, 2, 1, 1, 1)));
  EXPECT_FALSE(CouldRun(state, AddJob(&state, 3, 2, 2, 1)));
  EXPECT_FALSE(CouldRun(state, AddJob(&state, 4, 1, 1, 2)));
}

TEST(DescribeShortage, ManyNodesAreCountedNotListed) {
  State state;
  for (int i = 10; i < 40; ++i) AddNode(&state, absl::StrCat("n", i), 1, v1::GPU);
  Job& job = AddJob(&state, 1, 1, 1, 1);
  const std::string words = DescribeShortage(state, job, {});
  EXPECT_NE(words.find("n17 has no CPU slots; and 22 more nodes that do not fit"), std::string::npos) << words;
}

}  // namespace
}  // namespace muster::coordinator
