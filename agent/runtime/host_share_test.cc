#include "agent/runtime/host_share.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>

namespace muster::agent {
namespace {

std::string Folder() {
  std::string dir = ::testing::TempDir() + "/share.XXXXXX";
  return std::string(::mkdtemp(dir.data())) + "/agents";
}

TEST(HostShare, AgentsOfOneMachine_CountTogether) {
  const std::string folder = Folder();
  HostShare a(folder, "a");
  auto b = std::make_unique<HostShare>(folder, "b");
  a.Set(2);
  b->Set(3);
  EXPECT_EQ(a.Total(), 5);
  EXPECT_EQ(b->Total(), 5);
  b.reset();
  EXPECT_EQ(a.Total(), 2);
}

TEST(HostShare, FileOfADeadAgent_DoesNotCountAndIsRemoved) {
  const std::string folder = Folder();
  HostShare a(folder, "a");
  a.Set(1);
  std::ofstream(folder + "/dead") << "00000007\n";
  EXPECT_EQ(a.Total(), 1);
  EXPECT_FALSE(std::ifstream(folder + "/dead").is_open());
}

TEST(HostShare, FolderThatCannotBeMade_OwnWorkersCount) {
  HostShare a("/proc/no/such", "a");
  EXPECT_EQ(a.Total(), 1);
  a.Set(4);
  EXPECT_EQ(a.Total(), 4);
}

}  // namespace
}  // namespace muster::agent
