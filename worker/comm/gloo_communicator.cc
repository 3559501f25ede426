#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/status_macros.h"
#include "worker/comm/arguments.h"
#include "worker/comm/factory.h"
#include "worker/comm/gloo_mesh.h"
#include "worker/comm/sum.h"

namespace muster::worker {
namespace {

// Received segments in memory at a time, over all peers. Large enough to keep the connections busy.
constexpr int64_t kSegmentMemory = int64_t{4} << 20;
constexpr int64_t kLeastSegment = int64_t{64} << 10;

// Elements that every rank gives to every other outright; above, each rank sums its part and gives out the sum.
constexpr int64_t kSmallBytes = 16 << 10;

// Gloo carries messages; the collectives are ours, because Gloo has no reduce-scatter on this interface, its sums
// depend on the algorithm, and its waits cannot be aborted.
//
// Every rank hears from every other directly, so sums are in rank order and all see a dead peer at once.
class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(const CommOptions& options, std::unique_ptr<GlooMesh> mesh)
      : rank_(options.rank), size_(options.size), timeout_(options.timeout), mesh_(std::move(mesh)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::Status AllReduceSum(Buffer inout) override {
    MUSTER_RETURN_IF_ERROR(CheckAllReduce(inout));
    const Operation op = Start("all-reduce");
    if (inout.count * SizeOf(inout.type) <= kSmallBytes) return SumAll(op, inout);
    // As even as it gets: the first parts have one element more.
    std::vector<int64_t> starts(size_ + 1);
    for (int r = 0; r < size_; ++r) starts[r + 1] = starts[r] + inout.count / size_ + (r < inout.count % size_ ? 1 : 0);
    char* const data = static_cast<char*>(inout.data);
    MUSTER_RETURN_IF_ERROR(SumPart(op, data, starts, inout.type, data + starts[rank_] * SizeOf(inout.type)));
    return GatherParts(op, data, starts, SizeOf(inout.type));
  }

  absl::Status ReduceScatterSum(ConstBuffer in, Buffer out) override {
    MUSTER_RETURN_IF_ERROR(CheckReduceScatter(in, out, size_));
    return SumPart(Start("reduce-scatter"), static_cast<const char*>(in.data), EvenStarts(out.count), in.type,
                   out.data);
  }

  absl::Status AllGather(ConstBuffer in, Buffer out) override {
    MUSTER_RETURN_IF_ERROR(CheckAllGather(in, out, size_));
    const int64_t bytes = in.count * SizeOf(in.type);
    char* const data = static_cast<char*>(out.data);
    if (bytes > 0 && data + rank_ * bytes != in.data) std::memcpy(data + rank_ * bytes, in.data, bytes);
    return GatherParts(Start("all-gather"), data, EvenStarts(in.count), SizeOf(in.type));
  }

  // A binomial tree: ranks counted from the root, each gets the data from the one that differs in its lowest bit.
  absl::Status Broadcast(Buffer inout, int root) override {
    MUSTER_RETURN_IF_ERROR(CheckBroadcast(inout, root, size_));
    const Operation op = Start("broadcast");
    const int64_t bytes = inout.count * SizeOf(inout.type);
    const int me = (rank_ - root + size_) % size_;
    Regions from, to;
    int bit = 1;
    while (bit < size_ && (me & bit) == 0) bit <<= 1;
    if (me != 0) from.Add((me - bit + root) % size_, 0, bytes);
    for (bit >>= 1; bit > 0; bit >>= 1) {
      if (me + bit < size_) to.Add((me + bit + root) % size_, 0, bytes);
    }
    MUSTER_RETURN_IF_ERROR(Exchange(op, nullptr, {}, inout.data, from));
    return Exchange(op, inout.data, to, nullptr, {});
  }

  absl::Status Barrier() override {
    std::vector<char> marks(size_);
    return GatherParts(Start("barrier"), marks.data(), EvenStarts(1), 1);
  }

  void Abort() override { mesh_->Abort(); }

 private:
  struct Operation {
    absl::string_view name;
    absl::Time deadline;
  };

  // Without the empty ones: both sides know of them.
  struct Regions {
    std::vector<GlooMesh::Region> list;
    void Add(int peer, int64_t offset, int64_t bytes) {
      if (bytes > 0) list.push_back({peer, offset, bytes});
    }
  };

  Operation Start(absl::string_view name) const { return {name, Clock::Real()->Now() + timeout_}; }

  absl::Status Exchange(const Operation& op, const void* send, const Regions& to, void* recv, const Regions& from) {
    return mesh_->Exchange(op.name, op.deadline, send, to.list, recv, from.list);
  }

  std::vector<int64_t> EvenStarts(int64_t count) const {
    std::vector<int64_t> starts(size_ + 1);
    for (int r = 0; r <= size_; ++r) starts[r] = r * count;
    return starts;
  }

  // The other ranks, each rank beginning with the one after it so that not all speak to the same one.
  template <typename Fn>
  void ForEachPeer(Fn fn) const {
    for (int i = 1; i < size_; ++i) fn((rank_ + i) % size_);
  }

  // Everybody's whole buffer to everybody: one round trip.
  absl::Status SumAll(const Operation& op, Buffer inout) {
    const int64_t bytes = inout.count * SizeOf(inout.type);
    std::vector<char> received(bytes * size_);
    std::vector<const void*> parts(size_);
    for (int r = 0; r < size_; ++r) parts[r] = r == rank_ ? inout.data : received.data() + r * bytes;
    Regions from, to;
    ForEachPeer([&](int peer) {
      from.Add(peer, peer * bytes, bytes);
      to.Add(peer, 0, bytes);
    });
    MUSTER_RETURN_IF_ERROR(Exchange(op, inout.data, to, received.data(), from));
    SumInOrder(inout.type, parts, inout.count, inout.data);
    return absl::OkStatus();
  }

  // Part r of `in` is elements [starts[r], starts[r + 1]). Sends each part to its rank, and sums this rank's into
  // `out`, segment by segment so that memory stays bounded.
  absl::Status SumPart(const Operation& op, const char* in, const std::vector<int64_t>& starts, DataType type,
                       void* out) {
    const int64_t width = SizeOf(type);
    const int64_t segment = std::max(kLeastSegment, kSegmentMemory / size_) / width;
    int64_t longest = 0;
    for (int r = 0; r < size_; ++r) longest = std::max(longest, starts[r + 1] - starts[r]);
    const int64_t own = starts[rank_ + 1] - starts[rank_];
    const int64_t stride = std::min(segment, own) * width;
    std::vector<char> received(stride * size_);
    std::vector<const void*> parts(size_);
    // At least once, so that an error of before is told also when there is nothing to sum.
    for (int64_t begin = 0; begin == 0 || begin < longest; begin += segment) {
      const int64_t mine = std::max<int64_t>(0, std::min(segment, own - begin));
      Regions from, to;
      ForEachPeer([&](int peer) {
        from.Add(peer, peer * stride, mine * width);
        to.Add(peer, (starts[peer] + begin) * width,
               std::min(segment, starts[peer + 1] - starts[peer] - begin) * width);
      });
      MUSTER_RETURN_IF_ERROR(Exchange(op, in, to, received.data(), from));
      for (int r = 0; r < size_; ++r) {
        parts[r] = r == rank_ ? in + (starts[rank_] + begin) * width : received.data() + r * stride;
      }
      SumInOrder(type, parts, mine, static_cast<char*>(out) + begin * width);
    }
    return absl::OkStatus();
  }

  // This rank's part to everybody, everybody's into its place.
  absl::Status GatherParts(const Operation& op, char* data, const std::vector<int64_t>& starts, int64_t width) {
    Regions from, to;
    ForEachPeer([&](int peer) {
      from.Add(peer, starts[peer] * width, (starts[peer + 1] - starts[peer]) * width);
      to.Add(peer, starts[rank_] * width, (starts[rank_ + 1] - starts[rank_]) * width);
    });
    return Exchange(op, data, to, data, from);
  }

  const int rank_;
  const int size_;
  const absl::Duration timeout_;
  const std::unique_ptr<GlooMesh> mesh_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> NewGlooCommunicator(const CommOptions& options,
                                                                  const ExchangeFn& exchange) {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<GlooMesh> mesh, GlooMesh::Connect(options, exchange));
  return std::unique_ptr<Communicator>(std::make_unique<GlooCommunicator>(options, std::move(mesh)));
}

}  // namespace muster::worker
