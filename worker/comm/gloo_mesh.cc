#include "worker/comm/gloo_mesh.h"

#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "worker/comm/gloo_errors.h"

namespace muster::worker {
namespace {

// All messages go through one slot: within a slot Gloo keeps the order of a pair's.
constexpr uint64_t kSlot = 0;
// Nobody receives from this one.
constexpr uint64_t kProbeSlot = 1;
constexpr char kBlobVersion = 1;
// Nobody sends to this one.
constexpr uint64_t kWatchSlot = 2;

// A peer that is gone may have done its share of the collective under way and left in peace, with its last bytes still
// on the network; so what waits gets this long to end well.
constexpr absl::Duration kGrace = absl::Milliseconds(200);

constexpr std::chrono::hours kForever(24 * 365);

// Gloo waits five times the pair's timeout for a connection.
constexpr int kConnectFactor = 5;

absl::Status CheckAddress(const std::string& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' is not an IPv4 or IPv6 address that workers could listen on"));
  }
  freeaddrinfo(found);
  return absl::OkStatus();
}

std::chrono::milliseconds Left(absl::Time deadline) {
  // Gloo takes -1 for "the default".
  return std::max(std::chrono::milliseconds(0), absl::ToChronoMilliseconds(deadline - Clock::Real()->Now()));
}

}  // namespace

// Builds its own pairs: gloo::rendezvous wants a key-value store and several round trips, and does not say which peer
// failed.
class GlooMesh::Context final : public gloo::Context {
 public:
  Context(const CommOptions& options, std::shared_ptr<gloo::transport::Device> device)
      : gloo::Context(options.rank, options.size) {
    device_ = std::move(device);
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(absl::ToChronoMilliseconds(options.connect_timeout) / kConnectFactor);
  }

  // A version byte, which also keeps the blob of a rank without peers from being empty: an empty one means "not there
  // yet". Then where each peer reaches this rank, by peer, without an entry for itself.
  std::string Listen() {
    std::string blob(1, kBlobVersion);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      const std::vector<char> bytes = transportContext_->createPair(peer)->address().bytes();
      blob.append(bytes.begin(), bytes.end());
    }
    return blob;
  }

  // To where `peer` listens for this rank. Throws.
  void ConnectTo(int peer, const std::string& blob) {
    const size_t bytes = (blob.size() - 1) / (size - 1);
    const size_t index = rank < peer ? rank : rank - 1;
    const auto begin = blob.begin() + 1 + index * bytes;
    transportContext_->getPair(peer)->connect(std::vector<char>(begin, begin + bytes));
  }

  // The peers whose connection has failed. Only for a mesh about to be closed: it sends what nobody receives.
  std::set<int> Gone() {
    std::set<int> gone;
    auto nothing = createUnboundBuffer(nullptr, 0);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      try {
        nothing->send(peer, kProbeSlot);
      } catch (const std::exception&) {
        gone.insert(peer);
      }
    }
    return gone;
  }

  void Close(int peer) { transportContext_->getPair(peer)->close(); }
};

absl::StatusOr<std::unique_ptr<GlooMesh>> GlooMesh::Connect(const CommOptions& options, const ExchangeFn& exchange) {
  if (absl::Status s = CheckAddress(options.address); !s.ok()) return s;
  std::shared_ptr<Context> context;
  std::string blob;
  try {
    gloo::transport::tcp::attr attr(options.address.c_str());
    context = std::make_shared<Context>(options, gloo::transport::tcp::CreateDevice(attr));
    blob = context->Listen();
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on ", options.address,
                                                   "; is it an address of this machine? (", GlooReason(e), ")"));
  }
  absl::StatusOr<std::vector<std::string>> blobs = exchange(blob);
  if (!blobs.ok()) return blobs.status();
  if (static_cast<int>(blobs->size()) != options.size) {
    return absl::InternalError(absl::StrCat("the rendezvous gave ", blobs->size(), " ranks, not ", options.size));
  }
  for (int peer = 0; peer < options.size; ++peer) {
    if (peer == options.rank) continue;
    if ((*blobs)[peer].size() != blob.size()) {
      return absl::InternalError(absl::StrCat("rank ", peer, "'s rendezvous data has ", (*blobs)[peer].size(),
                                              " bytes, not ", blob.size(), "; do all workers come from one release?"));
    }
    try {
      context->ConnectTo(peer, (*blobs)[peer]);
    } catch (const std::exception& e) {
      return GlooStatus(e, "connecting", absl::StrCat(peer));
    }
  }
  return std::unique_ptr<GlooMesh>(new GlooMesh(std::move(context)));
}

GlooMesh::GlooMesh(std::shared_ptr<Context> context)
    : context_(std::move(context)), watch_(context_->createUnboundBuffer(nullptr, 0)) {
  if (context_->size > 1) watcher_ = std::thread([this] { Watch(); });
}

GlooMesh::~GlooMesh() {
  if (!watcher_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mu_);
    closing_ = true;
    cv_.notify_all();
    watch_->abortWaitRecv();
  }
  watcher_.join();
}

void GlooMesh::Watch() {
  absl::Status lost;
  try {
    for (int peer = 0; peer < context_->size; ++peer) {
      if (peer != context_->rank) watch_->recv(peer, kWatchSlot, 0, 0);
    }
    if (!watch_->waitRecv(kForever)) return;
  } catch (const std::exception& e) {
    lost = GlooStatus(e, "training", absl::StrJoin(context_->Gone(), ", "));
  }
  Clock* const clock = Clock::Real();
  std::unique_lock<std::mutex> lock(mu_);
  lost_ = lost;
  while (!closing_) {
    clock->WaitUntil(lock, cv_, absl::InfiniteFuture(), [&] { return closing_ || waiting_ != nullptr; });
    const uint64_t wait = waits_;
    const bool over = clock->WaitUntil(lock, cv_, clock->Now() + kGrace, [&] { return closing_ || waits_ != wait; });
    if (over || waiting_ == nullptr) continue;
    waiting_->abortWaitRecv();
    waiting_->abortWaitSend();
    return;
  }
}

void GlooMesh::Abort() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    aborted_ = true;
    if (waiting_ != nullptr) {
      waiting_->abortWaitRecv();
      waiting_->abortWaitSend();
    }
  }
  Fail(absl::CancelledError("aborted")).IgnoreError();
}

absl::Status GlooMesh::Health() {
  std::lock_guard<std::mutex> lock(mu_);
  return aborted_ ? absl::CancelledError("aborted") : failed_;
}

absl::Status GlooMesh::Interrupted() {
  std::lock_guard<std::mutex> lock(mu_);
  return aborted_ ? absl::CancelledError("aborted") : lost_;
}

absl::Status GlooMesh::Fail(absl::Status status) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (aborted_) status = absl::CancelledError("aborted");
    if (!failed_.ok()) return aborted_ ? status : failed_;
    failed_ = status;
  }
  for (int peer = 0; peer < context_->size; ++peer) {
    if (peer != context_->rank) context_->Close(peer);
  }
  return status;
}

absl::Status GlooMesh::Exchange(absl::string_view what, absl::Time deadline, const void* send,
                                absl::Span<const Region> sends, void* recv, absl::Span<const Region> recvs) {
  if (absl::Status s = Health(); !s.ok()) return s;
  const auto end = [](absl::Span<const Region> regions) {
    int64_t bytes = 0;
    for (const Region& r : regions) bytes = std::max(bytes, r.offset + r.bytes);
    return bytes;
  };
  // One buffer for all peers, because Gloo wakes whoever waits on a buffer when any peer it has business with fails.
  // Gloo does not write to what it sends.
  auto out = context_->createUnboundBuffer(const_cast<void*>(send), end(sends));
  auto in = context_->createUnboundBuffer(recv, end(recvs));
  int peer = -1;
  try {
    for (const Region& r : recvs) in->recv(peer = r.peer, kSlot, r.offset, r.bytes);
    for (const Region& r : sends) out->send(peer = r.peer, kSlot, r.offset, r.bytes);
  } catch (const std::exception& e) {
    return Fail(GlooStatus(e, what, absl::StrCat(peer)));
  }
  if (absl::Status s = WaitAll(what, deadline, in.get(), false, recvs); !s.ok()) return s;
  return WaitAll(what, deadline, out.get(), true, sends);
}

absl::Status GlooMesh::WaitAll(absl::string_view what, absl::Time deadline, gloo::transport::UnboundBuffer* buffer,
                               bool send, absl::Span<const Region> regions) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (aborted_) return absl::CancelledError("aborted");
    waiting_ = buffer;
    cv_.notify_all();
  }
  std::set<int> missing;
  for (const Region& r : regions) missing.insert(r.peer);
  absl::Status status;
  try {
    for (size_t done = 0; done < regions.size() && status.ok(); ++done) {
      int peer = -1;
      // false: aborted. Abort marks the buffer, so it does not matter which of the two comes first.
      const bool ok = send ? buffer->waitSend(&peer, Left(deadline)) : buffer->waitRecv(&peer, Left(deadline));
      if (!ok) status = Interrupted();
      missing.erase(peer);
    }
  } catch (const std::exception& e) {
    const std::set<int> blamed = GlooTimedOut(e) ? missing : context_->Gone();
    status = GlooStatus(e, what, absl::StrJoin(blamed, ", "));
  }
  {
    std::lock_guard<std::mutex> lock(mu_);
    waiting_ = nullptr;
    ++waits_;
    cv_.notify_all();
  }
  return status.ok() ? status : Fail(std::move(status));
}

}  // namespace muster::worker
