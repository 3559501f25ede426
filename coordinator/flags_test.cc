#include "coordinator/flags.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<Flags> Parse(std::vector<const char*> args) {
  args.insert(args.begin(), "muster-coordinator");
  return ParseFlags(static_cast<int>(args.size()), args.data());
}

void ExpectRefused(std::vector<const char*> args, const std::string& words) {
  const absl::StatusOr<Flags> flags = Parse(std::move(args));
  ASSERT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(flags.status().message()), HasSubstr(words));
  EXPECT_THAT(std::string(flags.status().message()), Not(HasSubstr("\n")));
}

TEST(FlagsTest, DefaultsAreAsDocumented) {
  const Flags flags = Parse({"--data_dir", "/d"}).value();
  EXPECT_EQ(flags.data_dir, "/d");
  EXPECT_EQ(flags.listen, "0.0.0.0:7070");
  EXPECT_EQ(flags.lease, absl::Seconds(3));
  EXPECT_EQ(flags.heartbeat, absl::Milliseconds(500));
  EXPECT_EQ(flags.log_limit_mb, 64);
  EXPECT_EQ(flags.print, "");
}

TEST(FlagsTest, DurationsHaveUnits) {
  const Flags flags = Parse({"--data_dir=/d", "--lease=1m30s", "--heartbeat", "250ms", "--gather_window=0"}).value();
  EXPECT_EQ(flags.lease, absl::Seconds(90));
  EXPECT_EQ(flags.heartbeat, absl::Milliseconds(250));
  EXPECT_EQ(flags.gather_window, absl::ZeroDuration());
}

TEST(FlagsTest, WrongUsageIsOneLineThatNamesTheFlag) {
  ExpectRefused({}, "--data_dir is missing");
  ExpectRefused({"--data_dir=/d", "--lease=3"}, "--lease");
  ExpectRefused({"--data_dir=/d", "--lease=-3s"}, "--lease");
  ExpectRefused({"--data_dir=/d", "--lease=600ms"}, "at least twice --heartbeat");
  ExpectRefused({"--data_dir=/d", "--heartbeat=0"}, "--heartbeat");
  ExpectRefused({"--data_dir=/d", "--log_limit_mb=0"}, "--log_limit_mb");
  ExpectRefused({"--data_dir=/d", "--log_limit_mb=many"}, "--log_limit_mb");
  ExpectRefused({"--data_dir=/d", "--port=1"}, "--port=1");
  ExpectRefused({"--data_dir=/d", "stray"}, "stray");
}

TEST(FlagsTest, HelpAndVersionArePrinted) {
  const Flags help = Parse({"--help"}).value();
  for (const char* flag : {"--listen", "--data_dir", "--port_file", "--lease", "--heartbeat", "--gather_window",
                           "--diagnose_window", "--log_limit_mb", "--version", "DURATION", "3s"}) {
    EXPECT_THAT(help.print, HasSubstr(flag));
  }
  EXPECT_THAT(Parse({"--version"})->print, HasSubstr("protocol"));
}

}  // namespace
}  // namespace muster::coordinator
