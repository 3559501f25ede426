#ifndef MUSTER_WORKER_RUNTIME_EXIT_CODE_H_
#define MUSTER_WORKER_RUNTIME_EXIT_CODE_H_

namespace muster::worker {

// How muster-worker ends. What went wrong is said to the agent (WorkerFailure) and in the last line of the log.
enum class ExitCode {
  // All steps are done and the last checkpoint is committed.
  kDone = 0,
  // Something that a restart may mend.
  kTransient = 1,
  // The agent does not (or no longer) know this worker: an old generation, or programs of different releases.
  kFenced = 3,
  // Not started by an agent: flags or environment are wrong (EX_USAGE).
  kUsage = 64,
  // A peer went away or did not answer; this worker is collateral (EX_TEMPFAIL).
  kPeerLost = 75,
  // A restart would fail in the same way: bad data or spec, a folder that cannot be written, a diverged loss
  // (EX_CONFIG).
  kPermanent = 78,
  // SIGTERM.
  kTerminated = 143,
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_EXIT_CODE_H_
