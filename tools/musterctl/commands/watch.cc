#include "tools/musterctl/commands/watch.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/musterctl/json.h"
#include "tools/musterctl/view/job_detail.h"
#include "tools/musterctl/view/watch_view.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kProgressEvery = absl::Seconds(3);

// Draws a model again and again, in place.
class LiveScreen {
 public:
  explicit LiveScreen(Session& session) : session_(session) {}

  void Draw(const WatchModel& model, const std::string& trouble) {
    auto [columns, rows] = session_.terminal_size();
    Style style = session_.style;
    style.width = columns;
    std::vector<std::string> lines = RenderWatch(style, model, session_.clock->Now(), rows - (trouble.empty() ? 1 : 2));
    if (!trouble.empty()) {
      lines.push_back(
          Truncate(style, Paint(style, Color::kYellow, absl::StrCat("coordinator away (", trouble, "), trying again")),
                   columns));
    }
    std::string frame;
    if (drawn_ > 0) absl::StrAppend(&frame, "\033[", drawn_, "A");
    for (const std::string& line : lines) absl::StrAppend(&frame, line, "\033[K\n");
    frame += "\033[J";
    *session_.out << frame << std::flush;
    drawn_ = static_cast<int>(lines.size());
  }

 private:
  Session& session_;
  int drawn_ = 0;
};

// A line whenever there is something to say.
class PlainLines {
 public:
  explicit PlainLines(Session& session) : session_(session) {}

  void Add(const WatchModel& model, bool last) {
    const v1::JobView& job = model.job();
    absl::Time now = session_.clock->Now();
    if (job.state() != state_ || job.generation() != generation_) {
      state_ = job.state();
      generation_ = job.generation();
      std::string line = absl::StrCat(job.job_id(), " ", WordOf(job.state()));
      if (job.generation() > 0) absl::StrAppend(&line, ", generation ", job.generation());
      if (job.nodes() > 0) absl::StrAppend(&line, ", ", Count(job.nodes(), "node"));
      if (!job.reason().empty()) absl::StrAppend(&line, ": ", OneLine(job.reason()));
      *session_.out << line << "\n";
    }
    for (const v1::StoredEvent& event : model.new_events()) *session_.out << RenderEvent(session_.style, event) << "\n";
    bool news = job.total_steps() > 0 && job.step() != step_;
    if (news && (last || now - progress_at_ >= kProgressEvery)) {
      step_ = job.step();
      progress_at_ = now;
      *session_.out << RenderProgressLine(model) << "\n";
    }
    session_.out->flush();
  }

 private:
  Session& session_;
  v1::JobState state_ = v1::JOB_STATE_UNSPECIFIED;
  uint64_t generation_ = 0;
  int64_t step_ = 0;
  absl::Time progress_at_ = absl::InfinitePast();
};

absl::Status TimeIsOver(const WatchModel& model, const std::string& asked, absl::Duration timeout) {
  const v1::JobView& job = model.job();
  std::string state = job.job_id().empty() ? "not heard of" : StateAndReason(Style(), job);
  return absl::DeadlineExceededError(absl::StrCat(job.job_id().empty() ? asked : job.job_id(), " is not done after ",
                                                  absl::FormatDuration(timeout), "; it is ", state));
}

absl::Time DeadlineOf(Session& session, absl::Duration timeout) {
  return timeout == absl::InfiniteDuration() ? absl::InfiniteFuture() : session.clock->Now() + timeout;
}

}  // namespace

absl::StatusOr<ExitCode> RunWatch(Session& session, const WatchOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  WatchModel model;
  LiveScreen screen(session);
  PlainLines lines(session);
  bool live = !session.json && session.terminal_size().first > 0;
  bool reached = false;
  client->OnTrouble([&](const std::string& reason) {
    if (live) {
      screen.Draw(model, reason);
    } else {
      *session.err << "coordinator away (" << reason << "), trying again\n";
    }
  });
  absl::Status status =
      client->WatchJob(options.job, DeadlineOf(session, options.timeout), [&](const v1::JobSnapshot& snapshot) {
        model.Add(snapshot);
        reached = options.until.ReachedBy(model.job());
        bool last = reached || IsFinished(model.job().state());
        if (session.json) {
          *session.out << ToJsonLine(snapshot) << std::flush;
        } else if (live) {
          screen.Draw(model, "");
        } else {
          lines.Add(model, last);
        }
        return !last;
      });
  client->OnTrouble(nullptr);
  if (absl::IsDeadlineExceeded(status)) return TimeIsOver(model, options.job, options.timeout);
  MUSTER_RETURN_IF_ERROR(status);
  if (reached) return ExitCode::kOk;
  const v1::JobView& job = model.job();
  if (options.until.kind != WatchGoal::Kind::kEnd) {
    *session.err << job.job_id() << " ended before that: " << WordOf(job.state()) << ", at step " << job.step()
                 << " in generation " << job.generation() << "\n";
    return job.state() == v1::CANCELLED ? ExitCode::kCancelled : ExitCode::kFailed;
  }
  return ExitCodeOf(job.state());
}

absl::StatusOr<ExitCode> RunWait(Session& session, const WaitOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  WatchModel model;
  absl::Status status =
      client->WatchJob(options.job, DeadlineOf(session, options.timeout), [&](const v1::JobSnapshot& snapshot) {
        model.Add(snapshot);
        return !IsFinished(model.job().state());
      });
  if (absl::IsDeadlineExceeded(status)) return TimeIsOver(model, options.job, options.timeout);
  MUSTER_RETURN_IF_ERROR(status);
  const v1::JobView& job = model.job();
  if (session.json) {
    *session.out << ToJson(job);
  } else {
    *session.out << job.job_id() << " " << StateAndReason(session.style, job) << "\n";
  }
  return ExitCodeOf(job.state());
}

}  // namespace muster::ctl
