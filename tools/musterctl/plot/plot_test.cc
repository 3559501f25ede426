#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tools/musterctl/plot/axis.h"
#include "tools/musterctl/plot/loss_plot.h"
#include "tools/musterctl/plot/loss_series.h"
#include "tools/musterctl/plot/svg.h"
#include "tools/musterctl/plot/text_chart.h"
#include "tools/musterctl/plot/timeline_plot.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {
namespace {

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Tags nest and close, and nothing but known entities stands behind '&'.
void ExpectWellFormed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    size_t end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag[0] == '?' || tag.back() == '/') continue;
    std::string name = tag.substr(0, tag.find(' '));
    if (name[0] != '/') {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(name, "/" + open.back());
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
  for (size_t at = xml.find('&'); at != std::string::npos; at = xml.find('&', at + 1)) {
    std::string entity = xml.substr(at, xml.find(';', at) + 1 - at);
    EXPECT_TRUE(entity == "&amp;" || entity == "&lt;" || entity == "&gt;" || entity == "&quot;" || entity == "&#39;")
        << entity;
  }
}

LossSeries SomeSeries() {
  v1::JobDetail detail;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        job { job_id: "gpt-7" }
        generations { generation: 1 cause: CAUSE_FIRST_START world_size: 3 }
        generations { generation: 2 cause: CAUSE_NODE_LOST world_size: 2 restore_step: 40 }
        generations { generation: 3 cause: CAUSE_GROWTH world_size: 3 restore_step: 80 }
      )pb",
      &detail));
  std::vector<v1::StoredStep> steps(100);
  for (int i = 0; i < 100; ++i) {
    steps[i].mutable_metrics()->set_step(i + 1);
    steps[i].mutable_metrics()->set_loss(2 + 3.5 * std::exp(-i / 20.0));
    if ((i + 1) % 25 == 0) steps[i].mutable_metrics()->set_val_loss(2.2 + 3.5 * std::exp(-i / 20.0));
  }
  return MakeLossSeries(detail, steps);
}

v1::StoredGeneration SomeGeneration() {
  v1::StoredGeneration g;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"pb(
                                                              generation: 2
                                                              cause: CAUSE_NODE_LOST
                                                              world_size: 2
                                                              restore_step: 40
                                                              steps_redone: 7
                                                              reason: "node n2 lost <&> shrink"
                                                              timeline {
                                                                detected { seconds: 100 nanos: 0 }
                                                                decided { seconds: 100 nanos: 4000000 }
                                                                ranks_given { seconds: 100 nanos: 30000000 }
                                                                workers_up { seconds: 100 nanos: 700000000 }
                                                                first_step { seconds: 101 nanos: 0 }
                                                              }
                                                            )pb",
                                                            &g));
  return g;
}

TEST(Axis, TicksAreRoundAndInside) {
  Axis axis = Axis::Over(0, 500, 10, false);
  EXPECT_EQ(axis.ticks, std::vector<double>({0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500}));
  EXPECT_EQ(axis.LabelOf(50), "50");
  axis = Axis::Over(1.87, 5.6, 6, true);
  EXPECT_EQ(axis.low, 1);
  EXPECT_EQ(axis.high, 6);
  axis = Axis::Over(0.00012, 0.00019, 5, true);
  EXPECT_EQ(axis.LabelOf(axis.ticks[1]), "0.00014");
  EXPECT_EQ(Axis::Over(3, 3, 5, true).ticks.empty(), false) << "one value is no empty range";
}

TEST(XmlEscape, LeavesNoMarkup) { EXPECT_EQ(XmlEscape("a<b>&\"'\n"), "a&lt;b&gt;&amp;&quot;&#39; "); }

TEST(SvgWriter, ValueThatIsNotFiniteBreaksTheLine) {
  SvgWriter svg(10, 10, "t");
  svg.Polyline({{0, 0}, {1, 1}, {2, std::numeric_limits<double>::quiet_NaN()}, {3, 3}}, {});
  std::string out = svg.Finish();
  EXPECT_EQ(CountOf(out, "<polyline"), 2);
  EXPECT_EQ(CountOf(out, "nan"), 0);
}

TEST(LossSvg, ShowsBothCurvesAndEachChange) {
  std::string svg = LossSvg(SomeSeries());
  ExpectWellFormed(svg);
  EXPECT_EQ(CountOf(svg, "<polyline"), 2);
  EXPECT_EQ(CountOf(svg, "<circle"), 4) << "one a validation";
  EXPECT_EQ(CountOf(svg, "stroke-dasharray"), 2) << "one a change of the gang";
  for (const char* text : {"generation 2: node lost, 2 ranks", "generation 3: growth, 3 ranks", "Loss of gpt-7",
                           "optimizer step", "training 2.0248", "validation 2.2248"}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
}

TEST(LossSvg, CurveStaysInsideThePicture) {
  std::string svg = LossSvg(SomeSeries());
  size_t begin = svg.find("points=\"") + 8;
  std::vector<std::pair<double, double>> points;
  for (absl::string_view pair : absl::StrSplit(svg.substr(begin, svg.find('"', begin) - begin), ' ')) {
    std::vector<std::string> xy = absl::StrSplit(pair, ',');
    double x, y;
    ASSERT_TRUE(absl::SimpleAtod(xy[0], &x) && absl::SimpleAtod(xy[1], &y));
    EXPECT_GE(x, 70);
    EXPECT_LE(x, 870);
    EXPECT_GE(y, 60);
    EXPECT_LE(y, 420);
    if (!points.empty()) {
      EXPECT_GT(x, points.back().first);
      // This loss falls, and SVG's y grows downwards.
      EXPECT_GE(y, points.back().second);
    }
    points.emplace_back(x, y);
  }
  EXPECT_EQ(points.size(), 100u);
}

TEST(LossSvg, OneStepIsEnough) {
  LossSeries series;
  series.train = {{1, 5.5}};
  std::string svg = LossSvg(series);
  ExpectWellFormed(svg);
  EXPECT_EQ(CountOf(svg, "nan") + CountOf(svg, "inf"), 0);
}

TEST(PhasesOf, FollowEachOther) {
  std::vector<TimelinePhase> phases = PhasesOf(SomeGeneration().timeline());
  ASSERT_EQ(phases.size(), 4u);
  std::vector<double> ends = {4, 30, 700, 1000};
  double begin = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(phases[i].begin_ms, begin, 1e-6);
    EXPECT_NEAR(phases[i].end_ms, ends[i], 1e-6);
    begin = ends[i];
  }
  v1::StoredGeneration half = SomeGeneration();
  half.mutable_timeline()->clear_workers_up();
  EXPECT_EQ(PhasesOf(half.timeline()).size(), 2u) << "what follows a gap is not known";
}

TEST(TimelineSvg, HasABarForEachPhase) {
  std::string svg = TimelineSvg("gpt-7", SomeGeneration());
  ExpectWellFormed(svg);
  EXPECT_EQ(CountOf(svg, "<rect"), 5) << "four phases and the ground";
  for (const char* text : {"670 ms (at 700)", "node n2 lost &lt;&amp;&gt; shrink", "7 steps redone"}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
  v1::StoredGeneration none;
  ExpectWellFormed(TimelineSvg("x", none));
}

TEST(TimelineText, BarsLieBehindEachOther) {
  EXPECT_EQ(TimelineText({.unicode = false}, SomeGeneration()),
            "generation 2, node lost: 2 ranks, from step 40, 7 steps redone\n"
            "node n2 lost <&> shrink\n"
            "  decide, store  #                                              4 ms, at 4\n"
            "  prepare agents #                                             26 ms, at 30\n"
            "  start, join     ###########################                 670 ms, at 700\n"
            "  restore, step                              ############     300 ms, at 1000\n");
}

TEST(LossText, EachLineFits) {
  for (bool unicode : {true, false}) {
    for (int width : {40, 80, 120}) {
      std::string chart = LossText({.unicode = unicode, .width = width}, SomeSeries(), 12);
      std::vector<std::string> lines = absl::StrSplit(chart, '\n');
      for (int i = 1; i <= 14; ++i) EXPECT_LE(DisplayWidth(lines[i]), width) << lines[i];
      EXPECT_TRUE(absl::StrContains(chart, "training loss 2.0248"));
      EXPECT_TRUE(absl::StrContains(chart, "generation 2: node lost, 2 ranks, after step 40"));
    }
  }
}

TEST(LossText, FallingLossGoesDownTheLines) {
  LossSeries series;
  series.train = {{0, 2}, {10, 1}};
  std::vector<std::string> lines = absl::StrSplit(LossText({.unicode = false, .width = 30}, series, 5), '\n');
  EXPECT_LT(lines[1].find('*'), 12u) << "the first line of the plot has the beginning";
  EXPECT_GT(lines[5].find('*'), 20u) << "the last has the end";
}

}  // namespace
}  // namespace muster::ctl
