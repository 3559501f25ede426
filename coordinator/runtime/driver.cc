#include "coordinator/runtime/driver.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"

namespace muster::coordinator {
namespace {

absl::Status Stopping() { return absl::UnavailableError("the coordinator is stopping; try again"); }

}  // namespace

Driver::Driver(DriverOptions options, std::unique_ptr<Core> core, Effects initial, StateStore* store, Clock* clock,
               EffectSinks* sinks)
    : options_(std::move(options)),
      core_(std::move(core)),
      store_(store),
      clock_(clock),
      sinks_(sinks),
      stall_guard_(options_.stall_threshold, options_.stall_grace),
      retry_after_(options_.first_retry) {
  held_.Add(std::move(initial));
}

Driver::~Driver() { Stop(); }

void Driver::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Driver::Stop() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
  }
  cv_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Driver::Post(Event event, std::function<void()> taken) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (stopping_) return;
    events_.push_back({std::move(event), std::move(taken)});
    ++posted_;
  }
  cv_.notify_one();
}

void Driver::Read(Reader reader) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (!stopping_) {
      readers_.emplace_back(posted_, std::move(reader));
      reader = nullptr;
    }
  }
  if (reader != nullptr) {
    reader(Stopping());
  } else {
    cv_.notify_one();
  }
}

void Driver::Wake() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    woken_ = true;
  }
  cv_.notify_one();
}

void Driver::Run() {
  std::vector<Item> items;
  std::vector<Reader> readers;
  bool alive = CommitHeld();
  while (alive && Take(&items, &readers)) {
    const absl::Time now = clock_->Now();
    if (stall_guard_.OnAwake(now)) {
      LogWarning("the coordinator stood still for a while; leases are given %s more",
                 absl::FormatDuration(options_.stall_grace));
    }
    for (const Item& item : items) Step(item.event, now);
    StepTimer(now);
    alive = CommitHeld();
    for (const Item& item : items) {
      if (item.taken != nullptr) item.taken();
    }
    if (alive) Answer(&readers);
    items.clear();
    if (alive) readers.clear();
  }
  {
    std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
    for (auto& [after, reader] : readers_) readers.push_back(std::move(reader));
    readers_.clear();
  }
  for (const Reader& reader : readers) reader(Stopping());
  if (!alive && options_.on_fatal != nullptr) options_.on_fatal(store_status_);
}

bool Driver::Take(std::vector<Item>* items, std::vector<Reader>* readers) {
  std::unique_lock<std::mutex> lock(mu_);
  const bool full = held_.size() >= options_.max_held;
  clock_->WaitUntil(lock, cv_, WakeAt(clock_->Now()),
                    [&] { return stopping_ || woken_ || !readers_.empty() || (!full && !events_.empty()); });
  woken_ = false;
  if (stopping_) return false;
  if (!full) {
    const size_t n = std::min(options_.max_batch, events_.size());
    std::move(events_.begin(), events_.begin() + n, std::back_inserter(*items));
    events_.erase(events_.begin(), events_.begin() + n);
    taken_ += n;
  }
  while (!readers_.empty() && (readers_.front().first <= taken_ || full)) {
    readers->push_back(std::move(readers_.front().second));
    readers_.pop_front();
  }
  return true;
}

absl::Time Driver::WakeAt(absl::Time now) const {
  absl::Time at = now + options_.tick;
  if (!store_status_.ok()) return std::min(at, retry_at_);
  return std::min(at, std::max(core_->NextDeadline(), stall_guard_.held_until()));
}

void Driver::Step(const Event& event, absl::Time now) {
  for (Effects::Send& send : held_.Add(core_->Step(event, now))) sinks_->Send(send.session, std::move(send.message));
}

void Driver::StepTimer(absl::Time now) {
  if (core_->NextDeadline() > now) {
    timer_after_.reset();
    return;
  }
  // Nothing that is decided now could be stored or told.
  if (!store_status_.ok() || now < stall_guard_.held_until()) return;
  if (!timer_after_.has_value()) {
    std::lock_guard<std::mutex> lock(mu_);
    timer_after_ = posted_;
  }
  if (taken_ < *timer_after_) return;
  timer_after_.reset();
  Step(TimePassed{}, now);
}

bool Driver::CommitHeld() {
  if (held_.empty()) return true;
  if (held_.has_writes()) {
    if (!store_status_.ok() && clock_->Now() < retry_at_) return true;
    const absl::Status status = store_->Commit(held_.Batch());
    const absl::Time now = clock_->Now();
    if (!status.ok()) {
      store_status_ = status;
      if (absl::IsFailedPrecondition(status) || absl::IsDataLoss(status)) return false;
      LogError("%s; all decisions wait, next try in %s", status.ToString(), absl::FormatDuration(retry_after_));
      retry_at_ = now + retry_after_;
      retry_after_ = std::min(retry_after_ * 2, options_.last_retry);
      return true;
    }
    if (!store_status_.ok()) {
      LogInfo("the state is stored again");
      store_status_ = absl::OkStatus();
      retry_after_ = options_.first_retry;
    }
  }
  Apply(held_.Release());
  return true;
}

void Driver::Apply(Effects effects) {
  for (Effects::Send& send : effects.sends) sinks_->Send(send.session, std::move(send.message));
  for (const Effects::EndSession& end : effects.end_sessions) sinks_->EndSession(end.session, end.status);
  for (Effects::Reply& reply : effects.replies) sinks_->Reply(reply.request, std::move(reply.result));
  if (!effects.changed.empty()) sinks_->JobsChanged(effects.changed);
}

void Driver::Answer(std::vector<Reader>* readers) {
  const bool durable = held_.empty();
  for (const Reader& reader : *readers) {
    if (durable) {
      reader(Snapshot{core_.get(), clock_->Now()});
    } else {
      reader(absl::UnavailableError(absl::StrCat("the coordinator cannot store its state for now: ",
                                                 absl::string_view(store_status_.message()))));
    }
  }
}

}  // namespace muster::coordinator
