#include "coordinator/runtime/log_line_parser.h"

#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

constexpr char kLog[] =
    "2026-01-02T03:04:05.000000001Z stdout F one\n"
    "2026-01-02T03:04:05.1Z stdout P begun \n"
    "2026-01-02T03:04:05.2Z stderr F between\n"
    "2026-01-02T03:04:05.3Z stdout P and \n"
    "2026-01-02T03:04:05.4Z stdout F ended\n"
    "2026-01-02T03:04:06+01:00 stdout F \n"
    "not a record of ours\n"
    "\n"
    "2026-01-02T03:04:07Z stdout F\n";

std::string Words(const std::deque<ParsedLine>& lines) {
  std::string words;
  for (const ParsedLine& line : lines) words += line.time + (line.is_stderr ? " E:" : " O:") + line.text + "\n";
  return words;
}

constexpr char kWant[] =
    "2026-01-02T03:04:05.000000001Z O:one\n"
    "2026-01-02T03:04:05.2Z E:between\n"
    "2026-01-02T03:04:05.1Z O:begun and ended\n"
    "2026-01-02T03:04:06+01:00 O:\n"
    "2026-01-02T03:04:06+01:00 O:not a record of ours\n"
    "2026-01-02T03:04:07Z O:\n";

TEST(LogLineParserTest, PartsAreJoinedWithinTheirStream) {
  LogLineParser parser;
  std::deque<ParsedLine> lines;
  parser.Parse(kLog, &lines);
  EXPECT_EQ(Words(lines), kWant);
}

TEST(LogLineParserTest, AnySplitOfTheBytesGivesTheSameLines) {
  const absl::string_view log = kLog;
  for (size_t cut = 0; cut <= log.size(); ++cut) {
    LogLineParser parser;
    std::deque<ParsedLine> lines;
    parser.Parse(log.substr(0, cut), &lines);
    parser.Parse(log.substr(cut), &lines);
    ASSERT_EQ(Words(lines), kWant) << "cut at " << cut;
  }
}

TEST(LogLineParserTest, FinishGivesWhatHasNoEnd) {
  LogLineParser parser;
  std::deque<ParsedLine> lines;
  parser.Parse("2026-01-02T03:04:05Z stdout P begun\n2026-01-02T03:04:06Z stderr F cut", &lines);
  EXPECT_EQ(Words(lines), "");
  parser.Finish(&lines);
  EXPECT_EQ(Words(lines), "2026-01-02T03:04:06Z E:cut\n2026-01-02T03:04:05Z O:begun\n");
}

TEST(LogLineParserTest, EndlessLineIsBrokenUp) {
  LogLineParser parser;
  std::deque<ParsedLine> lines;
  const std::string part = "2026-01-02T03:04:05Z stdout P " + std::string(16 << 10, 'x') + "\n";
  for (int i = 0; i < 100; ++i) parser.Parse(part, &lines);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_LE(lines[0].text.size(), (1 << 20) + (16 << 10));
}

}  // namespace
}  // namespace muster::coordinator
