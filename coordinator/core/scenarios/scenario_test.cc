#include "coordinator/core/scenarios/scenario.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

constexpr char kFolder[] = "coordinator/core/scenarios/golden";

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> Files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Fails at the first line that differs, with a few lines around it.
void ExpectSame(const std::string& want, const std::string& got) {
  std::istringstream want_lines(want);
  std::istringstream got_lines(got);
  std::string w;
  std::string g;
  for (int line = 1;; ++line) {
    const bool has_want = static_cast<bool>(std::getline(want_lines, w));
    const bool has_got = static_cast<bool>(std::getline(got_lines, g));
    if (!has_want && !has_got) return;
    if (!has_want || !has_got || w != g) {
      ADD_FAILURE()
          << "line " << line << "\n  want: " << (has_want ? w : "(end)") << "\n  got:  " << (has_got ? g : "(end)")
          << "\nIf the new behaviour is right: bazel run //coordinator/core/scenarios:scenario_test -- --update";
      return;
    }
  }
}

class Scenario : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Scenario, DoesWhatItsFileSays) {
  const std::string want = Read(GetParam());
  absl::StatusOr<std::string> got = RunScenario(want);
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectSame(want, *got);
}

// The same events at the same times give the same effects.
TEST_P(Scenario, RepeatsItself) {
  const std::string text = Read(GetParam());
  absl::StatusOr<std::string> once = RunScenario(text);
  absl::StatusOr<std::string> twice = RunScenario(text);
  ASSERT_TRUE(once.ok()) << once.status();
  EXPECT_EQ(*once, *twice);
}

INSTANTIATE_TEST_SUITE_P(Golden, Scenario, testing::ValuesIn(Files(kFolder)),
                         [](const auto& info) { return info.param.stem().string(); });

int Update() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::filesystem::path folder = std::filesystem::path(workspace == nullptr ? "." : workspace) / kFolder;
  for (const auto& path : Files(folder)) {
    absl::StatusOr<std::string> got = RunScenario(Read(path));
    if (!got.ok()) {
      std::cerr << path.string() << ": " << got.status() << "\n";
      return 1;
    }
    if (*got == Read(path)) continue;
    std::ofstream(path) << *got;
    std::cout << "updated " << path.string() << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace muster::coordinator

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--update") return muster::coordinator::Update();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
