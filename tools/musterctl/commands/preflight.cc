#include "tools/musterctl/commands/preflight.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "worker/data/token_dataset.h"

namespace muster::ctl {
namespace {

// About a tenth of a second to a second of reading.
constexpr int64_t kMaxTokensRead = 32 << 20;

absl::Status CheckTokens(const worker::TokenDataset& data, int context) {
  std::vector<int32_t> tokens(context + 1);
  int64_t reads = std::clamp<int64_t>(kMaxTokensRead / context, 1, data.samples());
  for (int64_t i = 0; i < reads; ++i) {
    // Spread over all samples, the last one among them.
    int64_t id = reads == 1 ? 0 : i * (data.samples() - 1) / (reads - 1);
    MUSTER_RETURN_IF_ERROR(data.Read(id, absl::MakeSpan(tokens)));
  }
  return absl::OkStatus();
}

absl::Status CheckFiles(absl::string_view field, const std::string& pattern, const v1::TrainSpec& train,
                        std::vector<std::string>* warnings) {
  if (pattern.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<worker::TokenDataset>> data =
      worker::TokenDataset::Open(pattern, train.data().format(), train.model().context(), train.model().vocab());
  absl::Status status = data.ok() ? CheckTokens(**data, train.model().context()) : data.status();
  if (status.ok()) return status;
  if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) {
    warnings->push_back(absl::StrCat(field, ": ", pattern, " cannot be checked here (", status.message(),
                                     "); every node of the job must see it"));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Preflight(const v1::JobSpec& spec) {
  std::vector<std::string> warnings;
  if (!spec.has_train()) return warnings;
  const v1::DataSpec& data = spec.train().data();
  MUSTER_RETURN_IF_ERROR(CheckFiles("train.data.train", data.train(), spec.train(), &warnings));
  MUSTER_RETURN_IF_ERROR(CheckFiles("train.data.val", data.val(), spec.train(), &warnings));
  return warnings;
}

}  // namespace muster::ctl
