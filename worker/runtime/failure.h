#ifndef MUSTER_WORKER_RUNTIME_FAILURE_H_
#define MUSTER_WORKER_RUNTIME_FAILURE_H_

#include "absl/status/status.h"
#include "proto/agent.pb.h"
#include "worker/runtime/exit_code.h"

namespace muster::worker {

// What a step of the run failed at; the same code means different things.
enum class Stage {
  // Hello and Join.
  kAgent,
  // Listening and connecting.
  kConnect,
  // Opening data, looking at folders, publishing what was left, reading the checkpoint.
  kStart,
  kTrain,
  kSave,
};

struct Failure {
  v1::FailureKind kind;
  ExitCode code;
};

Failure Classify(Stage stage, const absl::Status& status);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_FAILURE_H_
