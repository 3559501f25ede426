#include "coordinator/core/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/proto_time.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

void Store(Turn& turn, Job& job, const v1::StepMetrics& metrics) {
  const int64_t block = MetricsBlock(metrics.step());
  v1::StoredMetrics& stored = job.metrics[block];
  stored.set_job_id(job.record.job_id());
  auto* steps = stored.mutable_steps();
  auto at = std::lower_bound(steps->begin(), steps->end(), metrics.step(),
                             [](const v1::StoredStep& s, int64_t step) { return s.metrics().step() < step; });
  if (at == steps->end() || at->metrics().step() != metrics.step()) {
    const int index = static_cast<int>(at - steps->begin());
    steps->Add();
    for (int i = steps->size() - 1; i > index; --i) steps->SwapElements(i, i - 1);
    at = steps->begin() + index;
  }
  *at->mutable_metrics() = metrics;
  at->set_generation(job.gang->generation);
  turn.TouchMetrics(job, block);
}

void OnFirstStep(Turn& turn, Job& job, const v1::StepMetrics& metrics) {
  v1::StoredGeneration& generation = CurrentGeneration(job);
  *generation.mutable_timeline()->mutable_first_step() = ToProto(turn.now);
  turn.TouchGeneration(job, generation.generation());
  turn.AddEvent(job, "FirstStep", absl::StrFormat("step %d, loss %.4f", metrics.step(), metrics.loss()),
                {.node = job.gang->nodes.front(), .rank = 0, .step = metrics.step()});
  SetJobState(turn, job, v1::JOB_RUNNING,
              absl::StrCat("training with ", Count(job.gang->workers.size(), "worker"), " on ",
                           Count(job.gang->nodes.size(), "node")));
  job.record.mutable_restarts()->set_without_progress(0);
  turn.replan = true;  // it may grow now
}

}  // namespace

void OnProgress(Turn& turn, Job& job, const NodeId& node, const v1::Progress& progress) {
  Gang& gang = *job.gang;
  if (!IsTrain(job) || gang.nodes.front() != node || gang.state == GangState::kPreparing) return;
  int64_t newest = 0;
  for (const v1::StepMetrics& metrics : progress.steps()) {
    if (metrics.step() < 1 || metrics.step() > job.record.spec().train().steps()) continue;
    newest = std::max(newest, metrics.step());
    if (gang.state == GangState::kRunning && !CurrentGeneration(job).timeline().has_first_step()) {
      OnFirstStep(turn, job, metrics);
    }
    Store(turn, job, metrics);
    gang.newest_step = std::max(gang.newest_step, metrics.step());
    if (metrics.step() > job.record.last_step()) {
      job.record.set_last_step(metrics.step());
      turn.Touch(job);
    }
  }
  if (newest == 0) return;
  v1::CoordinatorMessage ack;
  ack.mutable_progress_ack()->set_job_id(job.record.job_id());
  ack.mutable_progress_ack()->set_generation(gang.generation);
  ack.mutable_progress_ack()->set_step(newest);
  turn.Send(node, std::move(ack));
}

int64_t NewestStepOf(const Job& job, uint64_t generation) {
  for (auto block = job.metrics.rbegin(); block != job.metrics.rend(); ++block) {
    const auto& steps = block->second.steps();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (step->generation() == generation) return step->metrics().step();
    }
  }
  return 0;
}

}  // namespace muster::coordinator
