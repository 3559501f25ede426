#include "worker/comm/conformance.h"

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "worker/comm/sum.h"

namespace muster::worker {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kBfloat16, DataType::kInt64, DataType::kByte};
// Odd ones, fewer than ranks, and enough for several segments.
constexpr int64_t kCounts[] = {0, 1, 3, 257, 20'011};
constexpr int64_t kManySegments = 1'100'001;

// Small whole numbers in the bytes of a type, so that every sum is exact in all of them.
std::string Encode(DataType type, const std::vector<int>& values) {
  std::string bytes(values.size() * SizeOf(type), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    char* const to = bytes.data() + i * SizeOf(type);
    const float f = static_cast<float>(values[i]);
    const uint16_t b = FloatToBfloat16(f);
    const int64_t n = values[i];
    const uint8_t u = static_cast<uint8_t>(values[i]);
    const void* from = type == DataType::kFloat32    ? static_cast<const void*>(&f)
                       : type == DataType::kBfloat16 ? static_cast<const void*>(&b)
                       : type == DataType::kInt64    ? static_cast<const void*>(&n)
                                                     : static_cast<const void*>(&u);
    std::memcpy(to, from, SizeOf(type));
  }
  return bytes;
}

int Value(int rank, int64_t i) { return static_cast<int>((rank * 7 + i) % 13); }

std::vector<int> Values(int rank, int64_t count) {
  std::vector<int> v(count);
  for (int64_t i = 0; i < count; ++i) v[i] = Value(rank, i);
  return v;
}

std::vector<int> Sums(int size, int64_t count) {
  std::vector<int> v(count);
  for (int r = 0; r < size; ++r) {
    for (int64_t i = 0; i < count; ++i) v[i] += Value(r, i);
  }
  return v;
}

// Memory of the backend with given content.
class Memory {
 public:
  Memory(ConformanceBackend* backend, const std::string& bytes)
      : backend_(backend), size_(bytes.size()), data_(backend->Allocate(bytes.size() + 1)) {
    backend_->CopyIn(data_, bytes.data(), size_);
  }
  Memory(const Memory&) = delete;
  ~Memory() { backend_->Free(data_); }
  char* data() { return static_cast<char*>(data_); }
  std::string Read() {
    std::string bytes(size_, '\0');
    backend_->CopyOut(bytes.data(), data_, size_);
    return bytes;
  }

 private:
  ConformanceBackend* const backend_;
  const int64_t size_;
  void* const data_;
};

// Unlike a comparison, does not print megabytes.
absl::Status Expect(const std::string& got, const std::string& want, const std::string& what) {
  if (got == want) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, ": wrong result"));
}

void ExpectAllOk(const std::vector<absl::Status>& statuses) {
  for (size_t r = 0; r < statuses.size(); ++r) EXPECT_TRUE(statuses[r].ok()) << "rank " << r << ": " << statuses[r];
}

absl::Status AllReduceFloats(ConformanceBackend* backend, Communicator* comm, int64_t count) {
  Memory memory(backend, std::string(count * 4, '\0'));
  return comm->AllReduceSum({memory.data(), count, DataType::kFloat32});
}

}  // namespace

void CommunicatorConformance::SetUp() {
  if (const std::string reason = backend()->SkipReason(); !reason.empty()) GTEST_SKIP() << reason;
}

std::vector<absl::Status> CommunicatorConformance::OnAllRanks(const std::function<absl::Status(Communicator*)>& fn) {
  std::vector<absl::Status> statuses(group_.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < group_.size(); ++r) {
    threads.emplace_back([&, r] { statuses[r] = group_[r] ? fn(group_[r].get()) : absl::OkStatus(); });
  }
  for (std::thread& t : threads) t.join();
  return statuses;
}

TEST_P(CommunicatorConformance, RankAndSizeAreThoseOfTheGroup) {
  NewGroup();
  ASSERT_EQ(static_cast<int>(group_.size()), size());
  for (int r = 0; r < size(); ++r) {
    EXPECT_EQ(group_[r]->rank(), r);
    EXPECT_EQ(group_[r]->size(), size());
  }
}

TEST_P(CommunicatorConformance, AllReduceSumsEveryTypeAndCount) {
  NewGroup();
  ExpectAllOk(OnAllRanks([&](Communicator* comm) {
    for (DataType type : kTypes) {
      for (int64_t count : kCounts) {
        Memory memory(backend(), Encode(type, Values(comm->rank(), count)));
        if (absl::Status s = comm->AllReduceSum({memory.data(), count, type}); !s.ok()) return s;
        if (absl::Status s = Expect(memory.Read(), Encode(type, Sums(size(), count)), absl::StrCat(count)); !s.ok()) {
          return s;
        }
      }
    }
    return absl::OkStatus();
  }));
}

TEST_P(CommunicatorConformance, ReduceScatterGivesEachRankItsPartOfTheSum) {
  NewGroup();
  ExpectAllOk(OnAllRanks([&](Communicator* comm) {
    for (DataType type : kTypes) {
      for (int64_t count : kCounts) {
        for (bool in_place : {false, true}) {
          const int64_t bytes = count * SizeOf(type);
          Memory in(backend(), Encode(type, Values(comm->rank(), count * size())));
          Memory apart(backend(), std::string(bytes, '\0'));
          char* const out = in_place ? in.data() + comm->rank() * bytes : apart.data();
          if (absl::Status s = comm->ReduceScatterSum({in.data(), count * size(), type}, {out, count, type}); !s.ok()) {
            return s;
          }
          const std::string want = Encode(type, Sums(size(), count * size())).substr(comm->rank() * bytes, bytes);
          const std::string got = in_place ? in.Read().substr(comm->rank() * bytes, bytes) : apart.Read();
          if (absl::Status s = Expect(got, want, absl::StrCat(count)); !s.ok()) return s;
        }
      }
    }
    return absl::OkStatus();
  }));
}

TEST_P(CommunicatorConformance, AllGatherPutsThePartsInRankOrder) {
  NewGroup();
  ExpectAllOk(OnAllRanks([&](Communicator* comm) {
    for (DataType type : kTypes) {
      for (int64_t count : kCounts) {
        std::string want;
        for (int r = 0; r < size(); ++r) want += Encode(type, Values(r, count));
        for (bool in_place : {false, true}) {
          const int64_t bytes = count * SizeOf(type);
          const std::string part = Encode(type, Values(comm->rank(), count));
          std::string blank(bytes * size(), '\0');
          if (in_place) blank.replace(comm->rank() * bytes, bytes, part);
          Memory out(backend(), blank);
          Memory apart(backend(), part);
          const char* const in = in_place ? out.data() + comm->rank() * bytes : apart.data();
          if (absl::Status s = comm->AllGather({in, count, type}, {out.data(), count * size(), type}); !s.ok())
            return s;
          if (absl::Status s = Expect(out.Read(), want, absl::StrCat(count)); !s.ok()) return s;
        }
      }
    }
    return absl::OkStatus();
  }));
}

TEST_P(CommunicatorConformance, BroadcastGivesAllTheRootsData) {
  NewGroup();
  ExpectAllOk(OnAllRanks([&](Communicator* comm) {
    for (int root = 0; root < size(); ++root) {
      for (int64_t count : kCounts) {
        Memory memory(backend(), Encode(DataType::kFloat32, Values(comm->rank(), count)));
        if (absl::Status s = comm->Broadcast({memory.data(), count}, root); !s.ok()) return s;
        const std::string want = Encode(DataType::kFloat32, Values(root, count));
        if (absl::Status s = Expect(memory.Read(), want, absl::StrCat("from ", root)); !s.ok()) return s;
      }
    }
    return absl::OkStatus();
  }));
}

TEST_P(CommunicatorConformance, BarrierHoldsUntilAllHaveCome) {
  NewGroup();
  std::atomic<int> came{0};
  ExpectAllOk(OnAllRanks([&](Communicator* comm) {
    for (int round = 1; round <= 20; ++round) {
      ++came;
      if (absl::Status s = comm->Barrier(); !s.ok()) return s;
      if (came < round * size()) return absl::InternalError("left before all had come");
      if (absl::Status s = comm->Barrier(); !s.ok()) return s;
    }
    return absl::OkStatus();
  }));
}

TEST_P(CommunicatorConformance, SumsOfFloatsAreInRankOrderBitForBit) {
  if (!backend()->SumsInRankOrder()) GTEST_SKIP() << "has an order of its own";
  NewGroup();
  std::vector<std::vector<float>> inputs(size());
  std::vector<const void*> parts;
  for (int r = 0; r < size(); ++r) {
    uint32_t bits = r + 1;
    for (int64_t i = 0; i < kManySegments; ++i) {
      bits = bits * 1664525u + 1013904223u;
      inputs[r].push_back(static_cast<float>(bits) / 4e9f - 0.5f);
    }
    parts.push_back(inputs[r].data());
  }
  std::string want(kManySegments * 4, '\0');
  SumInOrder(DataType::kFloat32, parts, kManySegments, want.data());
  ExpectAllOk(OnAllRanks([&](Communicator* comm) {
    for (int64_t count : {kManySegments, int64_t{1000}}) {
      const std::string input(reinterpret_cast<const char*>(inputs[comm->rank()].data()), count * 4);
      Memory memory(backend(), input);
      if (absl::Status s = comm->AllReduceSum({memory.data(), count}); !s.ok()) return s;
      if (absl::Status s = Expect(memory.Read(), want.substr(0, count * 4), "all-reduce"); !s.ok()) return s;
      const int64_t part = count / size();
      Memory again(backend(), input.substr(0, part * size() * 4));
      Memory out(backend(), std::string(part * 4, '\0'));
      if (absl::Status s = comm->ReduceScatterSum({again.data(), part * size()}, {out.data(), part}); !s.ok()) return s;
      if (absl::Status s = Expect(out.Read(), want.substr(comm->rank() * part * 4, part * 4), "part"); !s.ok())
        return s;
    }
    return absl::OkStatus();
  }));
}

TEST_P(CommunicatorConformance, Bfloat16IsSummedInFp32) {
  NewGroup();
  // 256 + 1 rounds back to 256 in bfloat16, so summing there would lose every 1.
  std::vector<absl::Status> statuses = OnAllRanks([&](Communicator* comm) {
    const std::vector<int> value = {comm->rank() == 0 ? 256 : 1};
    Memory memory(backend(), Encode(DataType::kBfloat16, value));
    if (absl::Status s = comm->AllReduceSum({memory.data(), 1, DataType::kBfloat16}); !s.ok()) return s;
    return Expect(memory.Read(), Encode(DataType::kBfloat16, {256 + size() - 1}), "sum");
  });
  ExpectAllOk(statuses);
}

TEST_P(CommunicatorConformance, WrongSizesAreRefusedAndDoNoHarm) {
  NewGroup();
  ExpectAllOk(OnAllRanks([&](Communicator* comm) {
    Memory memory(backend(), std::string(1000, '\0'));
    const int64_t n = 4 * size();
    const absl::Status bad[] = {
        comm->ReduceScatterSum({memory.data(), n + 1}, {memory.data(), 4}),
        comm->ReduceScatterSum({memory.data(), n, DataType::kInt64}, {memory.data(), 4, DataType::kFloat32}),
        comm->AllGather({memory.data(), 4}, {memory.data(), n - 1}),
        comm->AllReduceSum({nullptr, 4}),
        comm->AllReduceSum({memory.data(), -1}),
        comm->Broadcast({memory.data(), 4}, size()),
        comm->Broadcast({memory.data(), 4}, -1),
    };
    for (const absl::Status& s : bad) {
      if (!absl::IsInvalidArgument(s)) return absl::InternalError(absl::StrCat("not refused: ", s.ToString()));
    }
    return comm->Barrier();
  }));
}

TEST_P(CommunicatorConformance, ADestroyedPeerMakesCallsUnavailable) {
  if (size() == 1) GTEST_SKIP() << "one rank has no peer";
  NewGroup();
  ExpectAllOk(OnAllRanks([](Communicator* comm) { return comm->Barrier(); }));
  group_.back().reset();
  std::vector<absl::Status> statuses = OnAllRanks([&](Communicator* comm) {
    const absl::Status s = AllReduceFloats(backend(), comm, 100'000);
    // It stays so.
    if (!absl::IsUnavailable(comm->Barrier())) return absl::InternalError("usable after an error");
    return s;
  });
  for (int r = 0; r < size() - 1; ++r) {
    EXPECT_TRUE(absl::IsUnavailable(statuses[r])) << statuses[r];
    EXPECT_NE(statuses[r].message().find("rank "), absl::string_view::npos) << statuses[r];
  }
}

TEST_P(CommunicatorConformance, AbortEndsACallOfThisRankAndThoseOfItsPeers) {
  NewGroup();
  if (size() == 1) {
    group_[0]->Abort();
  } else {
    // The last rank does not come, so the others wait, until rank 0 is aborted from here.
    std::vector<absl::Status> statuses(size());
    std::vector<std::thread> threads;
    for (int r = 0; r < size() - 1; ++r) threads.emplace_back([&, r] { statuses[r] = group_[r]->Barrier(); });
    group_[0]->Abort();
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(absl::IsCancelled(statuses[0])) << statuses[0];
    for (int r = 1; r < size() - 1; ++r) EXPECT_TRUE(absl::IsUnavailable(statuses[r])) << statuses[r];
  }
  group_[0]->Abort();
  EXPECT_TRUE(absl::IsCancelled(group_[0]->Barrier()));
  EXPECT_TRUE(absl::IsCancelled(AllReduceFloats(backend(), group_[0].get(), 3)));
}

TEST_P(CommunicatorConformance, APeerThatDoesNotComeIsNamedAtTheDeadline) {
  if (size() == 1) GTEST_SKIP() << "one rank has no peer";
  NewGroup(absl::Milliseconds(500));
  const absl::Status s = AllReduceFloats(backend(), group_[0].get(), 100'000);
  EXPECT_TRUE(absl::IsDeadlineExceeded(s)) << s;
  EXPECT_NE(s.message().find("rank 1"), absl::string_view::npos) << s;
}

}  // namespace muster::worker
