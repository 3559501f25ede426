#include "coordinator/runtime/held_effects.h"

#include <iterator>
#include <utility>

namespace muster::coordinator {
namespace {

template <typename T>
void MoveAppend(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::vector<Effects::Send> HeldEffects::Add(Effects effects) {
  for (Effects::Put& put : effects.puts) writes_[std::move(put.key)] = std::move(put.value);
  for (std::string& key : effects.deletes) writes_[std::move(key)] = std::nullopt;
  std::vector<Effects::Send> at_once;
  for (Effects::Send& send : effects.sends) {
    if (send.message.has_welcome()) unwelcomed_.insert(send.session);
    const bool waits = !send.message.has_heartbeat_ack() || unwelcomed_.count(send.session) > 0;
    (waits ? held_.sends : at_once).push_back(std::move(send));
  }
  MoveAppend(effects.end_sessions, held_.end_sessions);
  MoveAppend(effects.replies, held_.replies);
  held_.changed.merge(effects.changed);
  return at_once;
}

size_t HeldEffects::size() const {
  return held_.sends.size() + held_.end_sessions.size() + held_.replies.size() + held_.changed.size();
}

StateStore::Batch HeldEffects::Batch() const {
  StateStore::Batch batch;
  for (const auto& [key, value] : writes_) {
    if (value.has_value()) {
      batch.puts.emplace_back(key, *value);
    } else {
      batch.deletes.push_back(key);
    }
  }
  return batch;
}

Effects HeldEffects::Release() {
  writes_.clear();
  unwelcomed_.clear();
  return std::exchange(held_, Effects());
}

}  // namespace muster::coordinator
