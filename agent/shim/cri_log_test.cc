#include "agent/shim/cri_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace muster::shim {
namespace {

const absl::Time kNow = absl::FromUnixNanos(1'700'000'000'000'000'042);

TEST(CriLines, WholeLines_AreFull) {
  CriLines lines("stdout");
  EXPECT_EQ(lines.Append("one\n\ntwo\n", kNow),
            "2023-11-14T22:13:20.000000042Z stdout F one\n"
            "2023-11-14T22:13:20.000000042Z stdout F \n"
            "2023-11-14T22:13:20.000000042Z stdout F two\n");
}

TEST(CriLines, LineInPieces_ComesOnceWhole) {
  CriLines lines("stderr");
  EXPECT_EQ(lines.Append("he", kNow), "");
  EXPECT_EQ(lines.Append("llo", kNow), "");
  EXPECT_EQ(lines.Append("\nx", kNow + absl::Seconds(1)), "2023-11-14T22:13:21.000000042Z stderr F hello\n");
  EXPECT_EQ(lines.Finish(kNow), "2023-11-14T22:13:20.000000042Z stderr F x\n");
  EXPECT_EQ(lines.Finish(kNow), "");
}

TEST(CriLines, LongLine_ComesInPartsThatMakeUpTheLine) {
  CriLines lines("stdout");
  const std::string text(CriLines::kMaxText * 2 + 5, 'x');
  std::string out = lines.Append(text, kNow);
  out += lines.Append("\n", kNow);
  const std::string prefix = "2023-11-14T22:13:20.000000042Z stdout ";
  const std::string part(CriLines::kMaxText, 'x');
  EXPECT_EQ(out, prefix + "P " + part + "\n" + prefix + "P " + part + "\n" + prefix + "F xxxxx\n");
}

TEST(CriLines, LineOfExactlyTheLimit_IsFull) {
  CriLines lines("stdout");
  const std::string text(CriLines::kMaxText, 'x');
  std::string out = lines.Append(text, kNow);
  out += lines.Append("\n", kNow);
  EXPECT_EQ(out, "2023-11-14T22:13:20.000000042Z stdout F " + text + "\n");
}

TEST(LogFile, FullDevice_DropsWithoutBlockingAndLaterWritesAreWhole) {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  LogFile log(fd);
  log.Write("a line\n", kNow);  // returns
  log.Write("another\n", kNow);
}

}  // namespace
}  // namespace muster::shim
