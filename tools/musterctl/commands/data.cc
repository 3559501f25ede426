#include "tools/musterctl/commands/data.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/musterctl/view/table.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

nlohmann::ordered_json FilesJson(const std::vector<worker::PackedFile>& files) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const worker::PackedFile& file : files) out.push_back({{"path", file.path}, {"tokens", file.tokens}});
  return out;
}

}  // namespace

absl::StatusOr<ExitCode> RunDataPack(Session& session, const DataPackOptions& options) {
  worker::PackOptions pack = options.pack;
  std::string prefix(absl::StripSuffix(options.output, ".bin"));
  bool one_file = pack.val_fraction == 0 && absl::EndsWith(options.output, ".bin");
  std::string output = one_file ? options.output : absl::StrCat(prefix, "-train.bin");
  if (pack.val_fraction > 0) pack.val_output = absl::StrCat(prefix, "-val.bin");

  bool show = !session.json && session.terminal_size().first > 0;
  MUSTER_ASSIGN_OR_RETURN(
      worker::PackResult result,
      worker::PackBytes(session.files, options.inputs, output, pack, [&](int64_t done, int64_t total) {
        if (!show) return;
        *session.out << "\rpacking " << WordsOfBytes(done) << " of " << WordsOfBytes(total) << "\033[K" << std::flush;
      }));
  if (show) *session.out << "\r\033[K";

  if (session.json) {
    nlohmann::ordered_json json = {{"documents", result.documents},
                                   {"bytes", result.bytes},
                                   {"train", FilesJson(result.train)},
                                   {"val", FilesJson(result.val)}};
    *session.out << json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return ExitCode::kOk;
  }
  for (const auto* files : {&result.train, &result.val}) {
    for (const worker::PackedFile& file : *files) {
      *session.out << file.path << "  " << WithCommas(file.tokens) << " tokens\n";
    }
  }
  *session.out << "packed " << Count(result.documents, "document") << ", " << WordsOfBytes(result.bytes)
               << ", as bytes (vocab: 256)\n";
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunDataStat(Session& session, const DataStatOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(worker::TokenStats stats, worker::StatTokens(session.files, options.pattern, options.format));
  if (session.json) {
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    for (const worker::TokenFileStats& file : stats.files) {
      files.push_back({{"path", file.path},
                       {"tokens", file.tokens},
                       {"bytes_per_token", file.bytes_per_token},
                       {"max_token", file.max_token}});
    }
    nlohmann::ordered_json json = {{"files", files}, {"tokens", stats.tokens}, {"max_token", stats.max_token}};
    *session.out << json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return ExitCode::kOk;
  }
  Table table({{"FILE"}, {"TOKENS", true}, {"BYTES A TOKEN", true}, {"GREATEST TOKEN", true}});
  for (const worker::TokenFileStats& file : stats.files) {
    table.Add({file.path, WithCommas(file.tokens), absl::StrCat(file.bytes_per_token),
               file.max_token < 0 ? "-" : absl::StrCat(file.max_token)});
  }
  *session.out << table.Render(session.style) << WithCommas(stats.tokens) << " tokens in "
               << Count(stats.files.size(), "file") << "; they need a vocab of at least " << stats.max_token + 1
               << "\n";
  return ExitCode::kOk;
}

}  // namespace muster::ctl
