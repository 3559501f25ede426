#include "worker/runtime/agent_link.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster::worker {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Milliseconds(500);

void Pause(Clock* clock, absl::Duration pause) {
  std::mutex mu;
  std::condition_variable cv;
  std::unique_lock<std::mutex> lock(mu);
  clock->WaitUntil(lock, cv, clock->Now() + pause, [] { return false; });
}

template <typename Call>
auto Patiently(Clock* clock, absl::Duration patience, Call call) -> decltype(call()) {
  absl::Time away_since = absl::InfiniteFuture();
  absl::Duration pause = kFirstPause;
  for (;;) {
    const absl::Time begin = clock->Now();
    auto result = call();
    if (!absl::IsUnavailable(result.status())) return result;
    const absl::Time now = clock->Now();
    // A call that was held for a while had an agent at its other end.
    if (now - begin > kLongestPause) {
      away_since = absl::InfiniteFuture();
      pause = kFirstPause;
    }
    away_since = std::min(away_since, now);
    if (now - away_since >= patience) {
      return absl::UnavailableError(
          absl::StrCat("the agent was away for ", absl::FormatDuration(patience), ": ", result.status().message()));
    }
    Pause(clock, pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace

absl::StatusOr<v1::HelloReply> PatientHello(AgentLink* agent, const v1::HelloRequest& request, Clock* clock,
                                            absl::Duration patience) {
  return Patiently(clock, patience, [&] { return agent->Hello(request); });
}

absl::StatusOr<std::vector<std::string>> PatientJoin(AgentLink* agent, const v1::JoinRequest& request, int world_size,
                                                     Clock* clock, absl::Duration patience) {
  MUSTER_ASSIGN_OR_RETURN(v1::JoinReply reply, Patiently(clock, patience, [&] { return agent->Join(request); }));
  if (reply.blobs_size() != world_size) {
    return absl::InternalError(
        absl::StrCat("the agent gave the addresses of ", reply.blobs_size(), " ranks, not ", world_size));
  }
  return std::vector<std::string>(reply.blobs().begin(), reply.blobs().end());
}

}  // namespace muster::worker
