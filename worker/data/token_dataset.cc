#include "worker/data/token_dataset.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "worker/data/glob.h"
#include "worker/data/token_file.h"

namespace muster::worker {
namespace {

class FileTokenDataset final : public TokenDataset {
 public:
  FileTokenDataset(std::vector<TokenFile> files, int context, int vocab)
      : context_(context), vocab_(vocab), files_(std::move(files)) {
    for (const TokenFile& file : files_) {
      samples_ += (file.tokens() - 1) / context_;
      ends_.push_back(samples_);
    }
  }

  int64_t samples() const override { return samples_; }

  absl::Status Read(int64_t id, absl::Span<int32_t> out) const override {
    if (id < 0 || id >= samples_ || out.size() != static_cast<size_t>(context_) + 1) {
      return absl::InvalidArgumentError(absl::StrCat("sample ", id, " with room for ", out.size(), " tokens of ",
                                                     samples_, " samples of ", context_ + 1, " tokens"));
    }
    const size_t index = std::upper_bound(ends_.begin(), ends_.end(), id) - ends_.begin();
    const TokenFile& file = files_[index];
    const int64_t first = (id - (index == 0 ? 0 : ends_[index - 1])) * context_;
    std::vector<uint32_t> tokens(out.size());
    MUSTER_RETURN_IF_ERROR(file.Read(first, absl::MakeSpan(tokens)));
    if (*std::max_element(tokens.begin(), tokens.end()) >= static_cast<uint32_t>(vocab_)) {
      return BeyondVocab(file, first, tokens);
    }
    std::copy(tokens.begin(), tokens.end(), out.begin());
    return absl::OkStatus();
  }

 private:
  absl::Status BeyondVocab(const TokenFile& file, int64_t first, const std::vector<uint32_t>& tokens) const {
    const auto bad = std::find_if(tokens.begin(), tokens.end(),
                                  [&](uint32_t token) { return token >= static_cast<uint32_t>(vocab_); });
    return absl::DataLossError(absl::StrCat(file.path(), ": token ", *bad, " at token offset ",
                                            first + (bad - tokens.begin()), " is beyond the vocabulary of ", vocab_,
                                            "; set model.vocab to at least ", uint64_t{*bad} + 1,
                                            ", or pack the data with this model's tokenizer"));
  }

  const int context_;
  const int vocab_;
  const std::vector<TokenFile> files_;
  // Of all files up to and with this one.
  std::vector<int64_t> ends_;
  int64_t samples_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TokenDataset>> TokenDataset::Open(const std::string& pattern, v1::TokenFormat format,
                                                                 int context, int vocab) {
  if (context < 1 || vocab < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.context is ", context, " and model.vocab ", vocab, "; both must be at least 1"));
  }
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ExpandPattern(pattern));
  std::vector<TokenFile> files;
  for (const std::string& path : paths) {
    MUSTER_ASSIGN_OR_RETURN(TokenFile file, TokenFile::Open(FileSystem::Posix(), path, format));
    if (file.tokens() <= context) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": ", file.tokens(), " tokens are less than one sample of model.context + 1 = ", int64_t{context} + 1,
          " tokens; leave this file out, or make model.context smaller"));
    }
    files.push_back(std::move(file));
  }
  return std::make_unique<FileTokenDataset>(std::move(files), context, vocab);
}

}  // namespace muster::worker
