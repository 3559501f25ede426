#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "worker/comm/conformance.h"
#include "worker/comm/factory.h"
#include "worker/comm/local_exchange.h"

namespace muster::worker {
namespace {

std::vector<absl::StatusOr<std::unique_ptr<Communicator>>> Connect(int size, const std::string& address,
                                                                   absl::Duration timeout, LocalExchange* exchange) {
  signal(SIGPIPE, SIG_IGN);
  std::vector<absl::StatusOr<std::unique_ptr<Communicator>>> ranks(size);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] { ranks[r] = NewGlooCommunicator({r, size, address, timeout}, exchange->ForRank(r)); });
  }
  for (std::thread& t : threads) t.join();
  return ranks;
}

class GlooBackend final : public ConformanceBackend {
 public:
  std::vector<std::unique_ptr<Communicator>> NewGroup(int size, absl::Duration timeout) override {
    LocalExchange exchange(size);
    std::vector<std::unique_ptr<Communicator>> group;
    for (auto& rank : Connect(size, "127.0.0.1", timeout, &exchange)) {
      EXPECT_TRUE(rank.ok()) << rank.status();
      group.push_back(rank.ok() ? *std::move(rank) : nullptr);
    }
    return group;
  }
};

GlooBackend backend;

INSTANTIATE_TEST_SUITE_P(Gloo, CommunicatorConformance,
                         testing::Values(ConformanceParam{&backend, 1}, ConformanceParam{&backend, 2},
                                         ConformanceParam{&backend, 3}, ConformanceParam{&backend, 4},
                                         ConformanceParam{&backend, 5}),
                         SizeName);

TEST(Gloo, EachRankExchangesOnceAlsoAlone) {
  for (int size : {1, 3}) {
    LocalExchange exchange(size);
    for (auto& rank : Connect(size, "127.0.0.1", absl::Seconds(60), &exchange)) EXPECT_TRUE(rank.ok()) << rank.status();
    EXPECT_EQ(exchange.calls(), size);
  }
}

TEST(Gloo, Ipv6AddressConnects) {
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  if (fd < 0) GTEST_SKIP() << "no IPv6 on this machine";
  close(fd);
  LocalExchange exchange(2);
  for (auto& rank : Connect(2, "::1", absl::Seconds(60), &exchange)) EXPECT_TRUE(rank.ok()) << rank.status();
}

TEST(Gloo, AddressOfAnotherMachineIsRefusedAndNamed) {
  LocalExchange exchange(1);
  for (const char* address : {"192.0.2.7", "some-host", ""}) {
    auto comm = NewGlooCommunicator({0, 1, address}, exchange.ForRank(0));
    EXPECT_TRUE(absl::IsInvalidArgument(comm.status())) << comm.status();
    EXPECT_NE(comm.status().message().find(address), absl::string_view::npos);
  }
  EXPECT_EQ(exchange.calls(), 0);
}

TEST(Gloo, FailedExchangeIsPassedOn) {
  auto comm = NewGlooCommunicator(
      {0, 2, "127.0.0.1"}, [](const std::string&) { return absl::FailedPreconditionError("an old generation"); });
  EXPECT_EQ(comm.status(), absl::FailedPreconditionError("an old generation"));
}

TEST(Gloo, ForeignBlobIsRefusedAndItsRankNamed) {
  auto comm = NewGlooCommunicator({0, 2, "127.0.0.1"}, [](const std::string& blob) {
    return std::vector<std::string>{blob, "nonsense"};
  });
  EXPECT_TRUE(absl::IsInternal(comm.status())) << comm.status();
  EXPECT_NE(comm.status().message().find("rank 1"), absl::string_view::npos);
}

TEST(Gloo, PeerThatNeverConnectsIsNamedAtTheDeadline) {
  // Rank 1 listens, tells its address, and does no more.
  LocalExchange exchange(2);
  std::thread peer([&] {
    auto comm = NewGlooCommunicator({1, 2, "127.0.0.1"}, [&](const std::string& blob) {
      (void)exchange.ForRank(1)(blob);
      return absl::UnknownError("gone before connecting");
    });
    EXPECT_FALSE(comm.ok());
  });
  auto comm = NewGlooCommunicator(
      {.rank = 0, .size = 2, .address = "127.0.0.1", .connect_timeout = absl::Milliseconds(500)}, exchange.ForRank(0));
  peer.join();
  // Whether it is refused or waits depends on which of the two would have called the other.
  EXPECT_TRUE(absl::IsDeadlineExceeded(comm.status()) || absl::IsUnavailable(comm.status())) << comm.status();
  EXPECT_NE(comm.status().message().find("rank 1"), absl::string_view::npos) << comm.status();
}

// Seen with Gloo's own collectives: survivors died of SIGPIPE, or waited for the time-out.
TEST(Gloo, KilledProcessMakesItsPeersUnavailable) {
  constexpr int kSize = 3;
  // Rendezvous through pipes: each process writes its blob to every other.
  int pipes[kSize][kSize][2];
  for (auto& row : pipes) {
    for (auto& p : row) ASSERT_EQ(pipe(p), 0);
  }
  const auto run = [&](int rank) -> absl::Status {
    signal(SIGPIPE, SIG_IGN);
    auto comm = NewGlooCommunicator({rank, kSize, "127.0.0.1"}, [&](const std::string& blob) {
      std::vector<std::string> blobs(kSize, std::string(blob.size(), '\0'));
      for (int to = 0; to < kSize; ++to) (void)!write(pipes[rank][to][1], blob.data(), blob.size());
      for (int from = 0; from < kSize; ++from) (void)!read(pipes[from][rank][0], blobs[from].data(), blob.size());
      return blobs;
    });
    if (!comm.ok()) return comm.status();
    std::vector<float> values(1 << 20, 1.f);
    for (int i = 0;; ++i) {
      if (rank == 2 && i == 3) kill(getpid(), SIGKILL);
      if (absl::Status s = (*comm)->AllReduceSum({values.data(), static_cast<int64_t>(values.size())}); !s.ok())
        return s;
    }
  };
  std::vector<pid_t> children;
  for (int rank = 0; rank < kSize; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) _exit(absl::IsUnavailable(run(rank)) ? 0 : 1);
    children.push_back(pid);
  }
  for (int rank = 0; rank < kSize; ++rank) {
    int status = 0;
    waitpid(children[rank], &status, 0);
    if (rank == 2) {
      EXPECT_TRUE(WIFSIGNALED(status));
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << rank << ", wait status " << status;
    }
  }
}

}  // namespace
}  // namespace muster::worker
