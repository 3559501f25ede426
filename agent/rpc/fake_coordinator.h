#ifndef MUSTER_AGENT_RPC_FAKE_COORDINATOR_H_
#define MUSTER_AGENT_RPC_FAKE_COORDINATOR_H_

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/agent.grpc.pb.h"

namespace muster::agent {

// The coordinator's end of the protocol, in this process, with no decisions of its own. Thread-safe. What is waited for
// comes within a minute or the wait gives up and returns nothing.
class FakeCoordinator final : public v1::AgentService::Service {
 public:
  explicit FakeCoordinator(absl::Duration lease) : lease_(lease) {}
  ~FakeCoordinator() override { Stop(); }

  // Again after Stop: on the same port.
  void Start();
  void Stop();
  int port() const { return port_; }

  // Every Session ends so from now on.
  void Refuse(grpc::Status status);
  // Takes everything and answers nothing, heartbeats included.
  void Mute(bool mute);
  // Logs that come are dropped from this size on, per worker, until it is raised: the coordinator has no more.
  void ForgetLogsBeyond(size_t bytes);

  bool Send(const v1::CoordinatorMessage& message);
  // Desired state of these gangs.
  bool Desire(const std::vector<v1::GangAssignment>& gangs);

  // The `n`-th registration, from 1.
  std::optional<v1::Register> WaitRegistration(size_t n);
  // The first message that fits, of all that came since it was last asked for a message; those before it are dropped.
  std::optional<v1::AgentMessage> WaitMessage(const std::function<bool(const v1::AgentMessage&)>& fits);
  std::optional<v1::WorkerStatus> WaitWorker(v1::WorkerState state);
  // A worker's log ("job.generation.rank"), once its end was told.
  std::optional<std::string> WaitLog(const std::string& worker);
  bool WaitLogHas(const std::string& worker, const std::string& text);

 private:
  using SessionStream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::AgentMessage>;
  using LogStream = grpc::ServerReaderWriter<v1::LogAck, v1::LogChunk>;

  grpc::Status Session(grpc::ServerContext* context, SessionStream* stream) override;
  grpc::Status ShipLogs(grpc::ServerContext* context, LogStream* stream) override;
  bool Wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready);

  struct LogFile {
    std::string data;
    bool eof = false;
  };

  const absl::Duration lease_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  std::mutex mu_;
  std::condition_variable cv_;
  // All guarded by mu_.
  bool mute_ = false;
  grpc::Status refusal_;
  SessionStream* stream_ = nullptr;
  uint64_t revision_ = 0;
  std::vector<v1::Register> registrations_;
  std::deque<v1::AgentMessage> messages_;
  std::map<std::string, LogFile> logs_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RPC_FAKE_COORDINATOR_H_
