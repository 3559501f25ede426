#include <filesystem>
#include <string>

#include "absl/strings/str_replace.h"
#include "common/file_system.h"
#include "common/spec/job_spec.h"
#include "common/spec/yaml_spec.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(Examples, EachIsAValidJobSpec) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++seen;
    std::string text = ReadFile(FileSystem::Posix(), entry.path().string()).value();
    // As tools/quickstart does it.
    absl::StrReplaceAll({{"@DIR@", "/work"}}, &text);
    absl::StatusOr<ParsedJobSpec> parsed = ParseJobSpecYaml(text, entry.path().string());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ApplyDefaults(&parsed->spec);
    EXPECT_TRUE(Validate(parsed->spec).ok()) << entry.path() << ": " << Validate(parsed->spec);
  }
  EXPECT_GE(seen, 4);
}

}  // namespace
}  // namespace muster
