#include "worker/data/token_writer.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "worker/data/token_file.h"

namespace muster::worker {
namespace {

constexpr size_t kBufferTokens = 1 << 16;

std::string Aside(const std::string& path) { return absl::StrCat(path, ".tmp"); }

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::vector<std::string> OutputNames(const std::string& output, int64_t count) {
  if (count == 1) return {output};
  const std::filesystem::path path(output);
  const std::string stem = (path.parent_path() / path.stem()).string();
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    names.push_back(absl::StrFormat("%s-%05d-of-%05d%s", stem, i, count, path.extension().string()));
  }
  return names;
}

ByteTokenWriter::ByteTokenWriter(FileSystem* fs, std::vector<std::string> paths, int64_t total)
    : fs_(fs), paths_(std::move(paths)), total_(total) {}

ByteTokenWriter::~ByteTokenWriter() {
  if (finished_) return;
  file_.reset();
  for (size_t i = 0; i < opened_; ++i) fs_->Remove(Aside(paths_[i])).IgnoreError();
}

int64_t ByteTokenWriter::TokensOf(size_t index) const {
  const int64_t files = static_cast<int64_t>(paths_.size());
  return total_ / files + (static_cast<int64_t>(index) < total_ % files ? 1 : 0);
}

absl::Status ByteTokenWriter::OpenNext() {
  if (opened_ == paths_.size()) {
    return absl::InternalError(absl::StrCat("more than ", total_, " tokens for ", paths_.back()));
  }
  const size_t index = opened_;
  MUSTER_RETURN_IF_ERROR(fs_->CreateDirs(FolderOf(paths_[index])));
  MUSTER_ASSIGN_OR_RETURN(file_, fs_->NewWritableFile(Aside(paths_[index])));
  ++opened_;
  room_ = TokensOf(index);
  return file_->Append(TokenHeaderU16(room_));
}

absl::Status ByteTokenWriter::CloseCurrent() {
  MUSTER_RETURN_IF_ERROR(file_->Sync());
  MUSTER_RETURN_IF_ERROR(file_->Close());
  file_.reset();
  return absl::OkStatus();
}

absl::Status ByteTokenWriter::Append(absl::string_view bytes) {
  std::vector<char> tokens(2 * std::min(bytes.size(), kBufferTokens));
  while (!bytes.empty()) {
    if (room_ == 0) {
      if (file_ != nullptr) MUSTER_RETURN_IF_ERROR(CloseCurrent());
      MUSTER_RETURN_IF_ERROR(OpenNext());
    }
    const size_t n = std::min({bytes.size(), kBufferTokens, static_cast<size_t>(room_)});
    for (size_t i = 0; i < n; ++i) {
      tokens[2 * i] = bytes[i];
      tokens[2 * i + 1] = 0;
    }
    MUSTER_RETURN_IF_ERROR(file_->Append({tokens.data(), 2 * n}));
    room_ -= static_cast<int64_t>(n);
    bytes.remove_prefix(n);
  }
  return absl::OkStatus();
}

absl::Status ByteTokenWriter::Seal() {
  if (opened_ != paths_.size() || room_ != 0) {
    return absl::InternalError(absl::StrCat("fewer than ", total_, " tokens for ", paths_.back()));
  }
  return CloseCurrent();
}

absl::Status ByteTokenWriter::Finish() {
  std::set<std::string> folders;
  for (const std::string& path : paths_) {
    MUSTER_RETURN_IF_ERROR(fs_->Rename(Aside(path), path));
    folders.insert(FolderOf(path));
  }
  finished_ = true;
  for (const std::string& folder : folders) MUSTER_RETURN_IF_ERROR(fs_->SyncDir(folder));
  return absl::OkStatus();
}

}  // namespace muster::worker
