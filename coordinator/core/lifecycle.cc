#include "coordinator/core/lifecycle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "coordinator/core/failure.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

// Between the grace period's end and the last exit's report: SIGKILL, reaping, a message.
constexpr absl::Duration kStopSlack = absl::Seconds(5);

}  // namespace

void SetJobState(Turn& turn, Job& job, v1::JobState state, const std::string& reason) {
  if (job.record.state() == state && job.record.reason() == reason) return;
  job.record.set_state(state);
  job.record.set_reason(reason);
  turn.Touch(job);
}

void EndGeneration(Turn& turn, Job& job, const std::string& reason, const std::optional<v1::FailureReport>& failure) {
  v1::StoredGeneration& generation = CurrentGeneration(job);
  generation.set_end_reason(reason);
  *generation.mutable_timeline()->mutable_ended() = ToProto(turn.now);
  if (failure.has_value()) *generation.mutable_failure() = *failure;
  turn.TouchGeneration(job, generation.generation());
  turn.TellGang(job);
  job.gang.reset();
  job.grow_at = absl::InfiniteFuture();
  turn.replan = true;
}

void Requeue(Turn& turn, Job& job, Waiting waiting, absl::Time retry_at) {
  job.waiting = std::move(waiting);
  if (retry_at > turn.now) {
    *job.record.mutable_retry_at() = ToProto(retry_at);
  } else {
    job.record.clear_retry_at();
  }
  turn.replan = true;
  turn.Touch(job);
  SetJobState(turn, job, v1::PENDING, job.waiting.why);
}

void FinishJob(Turn& turn, Job& job, v1::JobState state, const std::string& reason) {
  if (job.gang.has_value()) EndGeneration(turn, job, reason);
  turn.state.unfinished.erase(job.number);
  job.record.clear_retry_at();
  job.avoided.clear();
  *job.record.mutable_finished_at() = ToProto(turn.now);
  SetJobState(turn, job, state, reason);
  const char* type = state == v1::SUCCEEDED ? "JobSucceeded" : state == v1::FAILED ? "JobFailed" : "JobCancelled";
  turn.AddEvent(job, type, reason);
  turn.replan = true;
}

void FinishIfAllExited(Turn& turn, Job& job) {
  const Gang& gang = *job.gang;
  if (!std::all_of(gang.workers.begin(), gang.workers.end(), ExitedWell)) return;
  const int64_t steps = job.record.spec().train().steps();
  if (IsTrain(job) && job.record.committed_step() < steps) {
    Failure failure = FailureOf(gang.workers.front(), gang.generation);
    failure.blame = Blame::kUser;
    failure.what = absl::StrCat("all ranks exited with code 0, but only step ", job.record.committed_step(), " of ",
                                steps, " is committed");
    failure.report.set_message(failure.what);
    failure.detected = turn.now;
    FailGang(turn, job, failure);
    return;
  }
  // Rank 0 exits only once the last checkpoint is published; its word of that may have been lost on the way.
  if (auto last = job.checkpoints.find(steps); IsTrain(job) && last != job.checkpoints.end()) {
    last->second.set_published(true);
    turn.TouchCheckpoint(job, steps);
  }
  FinishJob(turn, job, v1::SUCCEEDED,
            IsTrain(job) ? absl::StrCat("all ", steps, " steps are done and committed")
                         : absl::StrCat(Count(gang.workers.size(), "worker"), " exited with code 0"));
}

void StopGang(Turn& turn, Job& job) {
  Gang& gang = *job.gang;
  gang.state = GangState::kStopping;
  gang.deadline = turn.now + FromProto(job.record.spec().grace()) + kStopSlack;
  gang.diagnose_until = absl::InfiniteFuture();
  job.grow_at = absl::InfiniteFuture();
  turn.TellGang(job);
}

void FinishIfStopped(Turn& turn, Job& job) {
  const Gang& gang = *job.gang;
  const bool all_gone = std::all_of(gang.workers.begin(), gang.workers.end(),
                                    [](const Worker& w) { return w.gone || w.state == v1::EXITED; });
  if (all_gone) FinishJob(turn, job, v1::CANCELLED, "cancelled; all workers have ended");
}

void OnStopTimeout(Turn& turn, Job& job) {
  FinishJob(turn, job, v1::CANCELLED, "cancelled; not all workers have told of their end in time, they are fenced");
}

}  // namespace muster::coordinator
