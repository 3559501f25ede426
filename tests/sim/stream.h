#ifndef MUSTER_TESTS_SIM_STREAM_H_
#define MUSTER_TESTS_SIM_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/ids.h"
#include "proto/agent.pb.h"
#include "tests/sim/world.h"

namespace muster::sim {

// One direction of a connection: in order, each message delayed. Held while a partition lasts.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  explicit Pipe(World* world) : world_(world) {}

  void Push(std::function<void()> deliver) {
    if (closed_) return;
    queue_.push_back(std::move(deliver));
    Pump();
  }
  void Hold(bool held) {
    held_ = held;
    if (!held) Pump();
  }
  // What is on its way is lost.
  void Close() {
    closed_ = true;
    queue_.clear();
  }

 private:
  void Pump() {
    if (busy_ || held_ || closed_ || queue_.empty()) return;
    busy_ = true;
    world_->loop.After(world_->Short(), [self = shared_from_this()] {
      self->busy_ = false;
      if (self->closed_ || self->held_) return;
      std::function<void()> deliver = std::move(self->queue_.front());
      self->queue_.pop_front();
      deliver();
      self->Pump();
    });
  }

  World* const world_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false;
  bool held_ = false;
  bool closed_ = false;
};

// A session between an agent and the coordinator. Either end may close it; the other learns of it later, and never
// while a partition lasts.
struct Stream {
  Stream(World* world, SessionId id) : id(id), up(std::make_shared<Pipe>(world)), down(std::make_shared<Pipe>(world)) {}

  const SessionId id;
  const std::shared_ptr<Pipe> up;
  const std::shared_ptr<Pipe> down;
  // An end is deaf once it has closed or seen the close.
  bool agent_open = true;
  bool coordinator_open = true;

  void Hold(bool held) {
    up->Hold(held);
    down->Hold(held);
  }
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_STREAM_H_
