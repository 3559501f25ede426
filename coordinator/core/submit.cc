#include "coordinator/core/submit.h"

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "common/spec/job_spec.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/views.h"

namespace muster::coordinator {
namespace {

constexpr size_t kLeastTokenLength = 16;

absl::Status CheckClient(const v1::SubmitJobRequest& submit) {
  if (submit.protocol() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("this client (version ", submit.version(), ") speaks protocol ",
                                                      submit.protocol(), ", the coordinator (version ", kVersion,
                                                      ") protocol ", kProtocolVersion,
                                                      "; use the musterctl of the coordinator's release"));
  }
  if (submit.token().size() < kLeastTokenLength) {
    return absl::InvalidArgumentError(absl::StrCat("token: has ", submit.token().size(), " characters; use at least ",
                                                   kLeastTokenLength, " random ones"));
  }
  return absl::OkStatus();
}

absl::Status CheckNameIsFree(const State& state, const std::string& name) {
  for (const auto& [number, id] : state.unfinished) {
    if (state.jobs.at(id).record.spec().name() == name) {
      return absl::AlreadyExistsError(absl::StrCat("name: job ", id.value(), " has the name '", name,
                                                   "' and is not finished; cancel it or choose another name"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::JobView> Submit(Turn& turn, const v1::SubmitJobRequest& submit) {
  MUSTER_RETURN_IF_ERROR(CheckClient(submit));
  State& state = turn.state;
  if (auto it = state.jobs_by_token.find(submit.token()); it != state.jobs_by_token.end()) {
    return ViewOfJob(state, it->second);
  }
  v1::JobSpec spec = submit.spec();
  ApplyDefaults(&spec);
  MUSTER_RETURN_IF_ERROR(Validate(spec));
  MUSTER_RETURN_IF_ERROR(CheckNameIsFree(state, spec.name()));

  const uint64_t number = state.cluster.next_job_number();
  state.cluster.set_next_job_number(number + 1);
  turn.TouchCluster();
  const JobId id(absl::StrCat(spec.name(), "-", number));
  Job& job = state.jobs[id];
  job.number = number;
  job.record.set_job_id(id.value());
  job.record.set_job_uid(submit.token());
  *job.record.mutable_spec() = std::move(spec);
  job.record.set_state(v1::PENDING);
  *job.record.mutable_submitted_at() = ToProto(turn.now);
  job.record.mutable_restarts();
  job.waiting.detected = turn.now;
  state.jobs_by_number[number] = id;
  state.unfinished[number] = id;
  state.jobs_by_token[submit.token()] = id;
  turn.AddEvent(job, "JobSubmitted", absl::StrCat("by a client of version ", submit.version()));
  turn.replan = true;
  return ViewOfJob(state, id);
}

absl::StatusOr<v1::JobView> Cancel(Turn& turn, const std::string& name) {
  absl::StatusOr<JobId> id = FindJob(turn.state, name);
  if (!id.ok()) return id.status();
  Job& job = turn.state.jobs.at(*id);
  if (IsFinished(job.record.state())) {
    return absl::FailedPreconditionError(absl::StrCat("job ", id->value(), " has finished (",
                                                      v1::JobState_Name(job.record.state()),
                                                      "); there is nothing to cancel"));
  }
  if (job.record.state() == v1::CANCELLING) return ViewOfJob(turn.state, *id);
  turn.AddEvent(job, "CancelRequested", "by a client");
  if (!job.gang.has_value()) {
    FinishJob(turn, job, v1::CANCELLED, "cancelled while it was pending");
  } else if (job.gang->state == GangState::kPreparing) {
    FinishJob(turn, job, v1::CANCELLED, "cancelled before its workers were started");
  } else {
    SetJobState(turn, job, v1::CANCELLING,
                absl::StrCat("cancelled; the workers have ", absl::FormatDuration(FromProto(job.record.spec().grace())),
                             " to end"));
    StopGang(turn, job);
    FinishIfStopped(turn, job);
  }
  return ViewOfJob(turn.state, *id);
}

}  // namespace

void OnSubmit(Turn& turn, const ClientSubmitted& event) {
  turn.effects.replies.push_back({event.request, Submit(turn, event.submit)});
}

void OnCancel(Turn& turn, const ClientCancelled& event) {
  turn.effects.replies.push_back({event.request, Cancel(turn, event.job)});
}

}  // namespace muster::coordinator
