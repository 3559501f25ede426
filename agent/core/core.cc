#include "agent/core/core.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::agent {

Core::Core(CoreOptions options, absl::Time now)
    : options_(std::move(options)),
      lease_(options_.lease),
      heartbeat_interval_(options_.heartbeat_interval),
      known_at_(now) {}

std::vector<Action> Core::Step(const Event& event, absl::Time now) {
  now_ = now;
  actions_.clear();
  std::visit([this](const auto& e) { On(e); }, event);
  Advance();
  return std::move(actions_);
}

void Core::On(const TimePassed&) {}

void Core::On(const LeaveAsked&) {
  if (leaving_) {
    for (auto& [key, worker] : workers_) {
      if (!worker.gone) Kill(key, worker, /*wanted=*/true);
    }
    return;
  }
  leaving_ = true;
  Say(Severity::kInfo, "leaving: workers are asked to stop");
}

void Core::Advance() {
  CheckLease();
  if (desired_known_) FenceWorkers();
  for (auto& [job, gang] : gangs_) {
    AdvanceGang(gang);
    ExpireJoins(gang);
  }
  if (leaving_) {
    bool alive = false;
    for (auto& [key, worker] : workers_) {
      if (worker.gone) continue;
      alive = true;
      if (!worker.exited()) Stop(key, worker, GraceOf(key));
    }
    if (!alive && !left_) {
      left_ = true;
      Do(Left{});
    }
  }
  Heartbeat();
  PlanCount();
}

absl::Time Core::LeaseEnd() const {
  absl::Time end = known_at_ + lease_;
  if (refused_at_ <= known_at_ + options_.keep_while_refused) end = std::max(end, refused_at_ + lease_);
  return end;
}

void Core::CheckLease() {
  if (now_ < LeaseEnd()) {
    lease_over_ = false;
    return;
  }
  if (lease_over_) return;
  lease_over_ = true;
  const std::string silence = absl::FormatDuration(absl::Floor(now_ - known_at_, absl::Milliseconds(1)));
  for (auto& [key, worker] : workers_) {
    if (worker.exited()) continue;
    worker.own_reason = absl::StrCat("killed by its agent: no word from the coordinator for ", silence,
                                     ", so another node may have its rank by now");
    Say(Severity::kWarning, absl::StrCat(key.ToString(), ": ", worker.own_reason));
    Kill(key, worker, /*wanted=*/false);
  }
  if (session_open_) {
    Do(ResetSession{absl::StrCat("the coordinator has been silent for ", silence)});
  }
}

void Core::Heartbeat() {
  if (!welcomed_ || now_ < next_heartbeat_) return;
  next_heartbeat_ = now_ + heartbeat_interval_;
  v1::AgentMessage message;
  message.mutable_heartbeat()->set_seq(next_seq_);
  heartbeats_[next_seq_++] = now_;
  Tell(std::move(message));
}

absl::Time Core::NextDeadline() const {
  absl::Time next = welcomed_ ? next_heartbeat_ : absl::InfiniteFuture();
  if (!lease_over_) next = std::min(next, LeaseEnd());
  for (const auto& [key, worker] : workers_) {
    if (worker.gone) continue;
    if (worker.killed_at != absl::InfiniteFuture()) {
      const absl::Time limit = worker.killed_at + options_.kill_limit;
      if (limit > now_) next = std::min(next, limit);
    } else if (worker.stop != StopStage::kNone && !worker.exited()) {
      next = std::min(next, NextStop(worker, GraceOf(key)));
    }
  }
  for (const auto& [job, gang] : gangs_) {
    for (const auto& [call, join] : gang.joins) next = std::min(next, join.deadline);
  }
  return next;
}

}  // namespace muster::agent
