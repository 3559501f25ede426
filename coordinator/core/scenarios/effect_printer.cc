#include "coordinator/core/scenarios/effect_printer.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/store.pb.h"

namespace muster::coordinator {
namespace {

std::string PrintJob(const v1::StoredJob& job) {
  std::string out = absl::StrCat("job ", job.job_id(), " ", v1::JobState_Name(job.state()), " \"", job.reason(), "\"");
  if (job.committed_step() > 0) absl::StrAppend(&out, " committed ", job.committed_step());
  const v1::RestartCounters& r = job.restarts();
  if (r.total() > 0) {
    absl::StrAppend(&out, " restarts user ", r.user(), " infrastructure ", r.infrastructure(), " without progress ",
                    r.without_progress(), " total ", r.total());
  }
  return out;
}

std::string PrintGeneration(const v1::StoredGeneration& g) {
  std::vector<std::string> nodes;
  for (const v1::PlacedNode& node : g.nodes()) {
    std::vector<std::string> ranks;
    for (const v1::LocalWorker& w : node.workers()) ranks.push_back(absl::StrCat(w.rank(), "@", w.slot()));
    nodes.push_back(absl::StrCat(node.node_id(), "(", absl::StrJoin(ranks, " "), ")"));
  }
  std::string out = absl::StrCat("generation ", g.job_id(), "/", g.generation(), " ",
                                 v1::GenerationCause_Name(g.cause()), " ", absl::StrJoin(nodes, " "));
  if (g.restore_step() > 0) absl::StrAppend(&out, " restore ", g.restore_step());
  if (g.steps_redone() > 0) absl::StrAppend(&out, " redo ", g.steps_redone());
  const v1::GenerationTimeline& t = g.timeline();
  std::vector<std::string> stamps;
  if (t.has_ranks_given()) stamps.push_back("ranks given");
  if (t.has_workers_up()) stamps.push_back("up");
  if (t.has_first_step()) stamps.push_back("first step");
  if (t.has_ended()) stamps.push_back("ended");
  if (!stamps.empty()) absl::StrAppend(&out, " [", absl::StrJoin(stamps, ", "), "]");
  return out;
}

template <typename Message>
Message Parse(const std::string& bytes) {
  Message message;
  message.ParseFromString(bytes);
  return message;
}

std::string PrintPut(const Effects::Put& put) {
  if (absl::StartsWith(put.key, "job/")) return PrintJob(Parse<v1::StoredJob>(put.value));
  if (absl::StartsWith(put.key, "gen/")) return PrintGeneration(Parse<v1::StoredGeneration>(put.value));
  if (absl::StartsWith(put.key, "node/")) {
    const auto node = Parse<v1::StoredNode>(put.value);
    return absl::StrCat("node ", node.node_id(),
                        node.lost() ? absl::StrCat(" lost \"", node.reason(), "\"") : " known");
  }
  if (absl::StartsWith(put.key, "ckpt/")) {
    const auto c = Parse<v1::StoredCheckpoint>(put.value);
    return absl::StrCat("checkpoint ", c.job_id(), " step ", c.step(), " of generation ", c.generation(),
                        c.published() ? " published" : " committed", c.removing() ? ", removing" : "");
  }
  if (absl::StartsWith(put.key, "metrics/")) {
    const auto m = Parse<v1::StoredMetrics>(put.value);
    return absl::StrCat("metrics ", m.job_id(), " steps ", m.steps(0).metrics().step(), " to ",
                        m.steps(m.steps_size() - 1).metrics().step());
  }
  if (absl::StartsWith(put.key, "event/")) {
    const auto e = Parse<v1::StoredEvent>(put.value);
    return absl::StrCat("event ", e.type(), ": ", e.message());
  }
  return put.key;
}

std::string PrintAssignment(const v1::GangAssignment& g) {
  std::vector<int> ranks;
  for (const v1::LocalWorker& w : g.workers()) ranks.push_back(w.rank());
  std::string out =
      absl::StrCat(g.job_id(), "/", g.generation(), " ", v1::GangPhase_Name(g.phase()), " rank ",
                   absl::StrJoin(ranks, ","), " of ", g.world_size(), ", node ", g.node_rank(), " of ", g.node_count());
  if (!g.master_addr().empty()) absl::StrAppend(&out, ", master ", g.master_addr(), ":", g.master_port());
  if (g.has_restore()) absl::StrAppend(&out, ", restore ", g.restore().path());
  if (g.committed_step() > 0) absl::StrAppend(&out, ", committed ", g.committed_step());
  if (g.has_publish()) absl::StrAppend(&out, ", publish ", g.publish().step());
  if (g.remove_steps_size() > 0) absl::StrAppend(&out, ", remove ", absl::StrJoin(g.remove_steps(), ","));
  if (g.hold_at_checkpoint()) absl::StrAppend(&out, ", hold at checkpoint");
  return out;
}

std::string PrintMessage(const v1::CoordinatorMessage& m) {
  switch (m.body_case()) {
    case v1::CoordinatorMessage::kWelcome:
      return "welcome";
    case v1::CoordinatorMessage::kHeartbeatAck:
      return absl::StrCat("heartbeat ack ", m.heartbeat_ack().seq());
    case v1::CoordinatorMessage::kDesired: {
      std::vector<std::string> gangs;
      for (const v1::GangAssignment& gang : m.desired().gangs()) gangs.push_back(PrintAssignment(gang));
      return absl::StrCat("desired: ", gangs.empty() ? "nothing" : absl::StrJoin(gangs, " | "));
    }
    case v1::CoordinatorMessage::kJoined:
      return absl::StrCat("joined ", m.joined().job_id(), "/", m.joined().generation(), ": ",
                          absl::StrJoin(m.joined().blobs(), " "));
    case v1::CoordinatorMessage::kProgressAck:
      return absl::StrCat("progress ack ", m.progress_ack().job_id(), "/", m.progress_ack().generation(), " step ",
                          m.progress_ack().step());
    case v1::CoordinatorMessage::BODY_NOT_SET:
      break;
  }
  return "nothing";
}

}  // namespace

std::vector<std::string> PrintEffects(const Effects& effects, const std::function<std::string(SessionId)>& node_of) {
  std::vector<std::string> lines;
  for (const Effects::Put& put : effects.puts) lines.push_back(absl::StrCat("put ", PrintPut(put)));
  for (const std::string& key : effects.deletes) lines.push_back(absl::StrCat("delete ", key));
  for (const Effects::Send& send : effects.sends) {
    lines.push_back(absl::StrCat("send ", node_of(send.session), " ", PrintMessage(send.message)));
  }
  for (const Effects::EndSession& end : effects.end_sessions) {
    lines.push_back(absl::StrCat("end ", node_of(end.session), " ", end.status.ToString()));
  }
  for (const Effects::Reply& reply : effects.replies) {
    lines.push_back(reply.result.ok()
                        ? absl::StrCat("reply ", reply.result->job_id(), " ", v1::JobState_Name(reply.result->state()),
                                       " \"", reply.result->reason(), "\"")
                        : absl::StrCat("reply ", reply.result.status().ToString()));
  }
  return lines;
}

}  // namespace muster::coordinator
