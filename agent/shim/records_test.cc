#include "agent/shim/records.h"

#include <gtest/gtest.h>

namespace muster::shim {
namespace {

TEST(StartRecord, EncodedAndDecoded_IsTheSame) {
  StartRecord record;
  record.shim_pid = 12;
  record.pid = 13;
  record.start_ticks = 18'446'744'073'709'551'615u;
  record.started_at = absl::FromUnixNanos(1'700'000'000'123'456'789);
  const absl::StatusOr<StartRecord> decoded = DecodeStart(Encode(record));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->shim_pid, 12);
  EXPECT_EQ(decoded->pid, 13);
  EXPECT_EQ(decoded->start_ticks, record.start_ticks);
  EXPECT_EQ(decoded->started_at, record.started_at);
}

TEST(ExitRecord, EncodedAndDecoded_IsTheSame) {
  ExitRecord record;
  record.code = 3;
  record.signal = 9;
  record.by_agent = true;
  record.orphaned = true;
  record.oom = OomKilled::kYes;
  record.start_error = "two\nlines = \"quoted\"";
  const absl::StatusOr<ExitRecord> decoded = DecodeExit(Encode(record));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->code, 3);
  EXPECT_EQ(decoded->signal, 9);
  EXPECT_TRUE(decoded->by_agent);
  EXPECT_TRUE(decoded->orphaned);
  EXPECT_EQ(decoded->oom, OomKilled::kYes);
  EXPECT_EQ(decoded->start_error, record.start_error);
}

TEST(ExitRecord, UnknownAndMissingKeys_TakeDefaults) {
  const absl::StatusOr<ExitRecord> decoded = DecodeExit("code=4\nfrom_the_future=1\n");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->code, 4);
  EXPECT_EQ(decoded->signal, 0);
  EXPECT_EQ(decoded->oom, OomKilled::kUnknown);
}

TEST(ExitRecord, Broken_IsRefused) {
  EXPECT_FALSE(DecodeExit("code\n").ok());
  EXPECT_FALSE(DecodeExit("code=many\n").ok());
}

TEST(Command, EncodedAndDecoded_IsTheSame) {
  for (const Command::Target target : {Command::Target::kLead, Command::Target::kGroup, Command::Target::kTree}) {
    const absl::StatusOr<Command> decoded = DecodeCommand(Encode(Command{15, target, true}));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->signal, 15);
    EXPECT_EQ(decoded->target, target);
    EXPECT_TRUE(decoded->wanted);
  }
  EXPECT_FALSE(DecodeCommand("target=everybody\n").ok());
}

}  // namespace
}  // namespace muster::shim
