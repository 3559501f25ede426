#include "worker/data/pack.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "worker/data/documents.h"
#include "worker/data/glob.h"
#include "worker/data/token_file.h"
#include "worker/data/token_writer.h"

namespace muster::worker {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;
// What the numbers in the files' names hold.
constexpr int64_t kMostFiles = 99'999;

absl::Status CheckOptions(const std::string& output, const PackOptions& options) {
  if (output.empty()) return absl::InvalidArgumentError("no output file is given");
  if (options.max_tokens_per_file < 0 || options.max_tokens_per_file > kMaxTokensWritten) {
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", options.max_tokens_per_file, " tokens a file is not from 1 to ", kMaxTokensWritten));
  }
  if (!(options.val_fraction >= 0 && options.val_fraction < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("validation fraction ", options.val_fraction, " is not at least 0 and below 1"));
  }
  if ((options.val_fraction > 0) == options.val_output.empty()) {
    return absl::InvalidArgumentError("a validation fraction and an output for it go together; give both or neither");
  }
  if (options.val_fraction > 0 && std::filesystem::path(options.val_output).lexically_normal() ==
                                      std::filesystem::path(output).lexically_normal()) {
    return absl::InvalidArgumentError(absl::StrCat(output, " is the output for training and for validation"));
  }
  return absl::OkStatus();
}

// "<stem>-00000-of-00002<extension>"
bool IsNumbered(absl::string_view name, absl::string_view stem, absl::string_view extension) {
  if (!absl::ConsumePrefix(&name, stem) || !absl::ConsumeSuffix(&name, extension)) return false;
  const absl::string_view pattern = "-#####-of-#####";
  return name.size() == pattern.size() && std::equal(name.begin(), name.end(), pattern.begin(), [](char c, char p) {
           return p == '#' ? absl::ascii_isdigit(c) : c == p;
         });
}

// One stream of tokens: the same part of every document, with separators between.
class Stream {
 public:
  Stream(FileSystem* fs, const PackOptions& options, std::string output)
      : fs_(fs), separator_(options.separator), output_(std::move(output)) {
    most_ = options.max_tokens_per_file == 0 ? kMaxTokensWritten : options.max_tokens_per_file;
  }

  void CountDocument(int64_t bytes) {
    if (bytes == 0) return;
    total_ += bytes + (total_ > 0 ? static_cast<int64_t>(separator_.size()) : 0);
  }

  // Once all documents are counted. Decides the files, and refuses what must not be overwritten.
  absl::Status Prepare(const std::vector<Document>& documents) {
    if (total_ == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("no bytes to pack into ", output_, ": the files are empty, or too small for the fraction"));
    }
    const int64_t files = (total_ + most_ - 1) / most_;
    if (files > kMostFiles) {
      return absl::InvalidArgumentError(
          absl::StrCat(total_, " tokens, ", most_, " a file, are more than ", kMostFiles, " files"));
    }
    const std::vector<std::string> paths = OutputNames(output_, files);
    for (const std::string& path : paths) MUSTER_RETURN_IF_ERROR(CheckNotInput(path, documents));
    MUSTER_RETURN_IF_ERROR(CheckNoLeftovers(paths));
    writer_ = std::make_unique<ByteTokenWriter>(fs_, paths, total_);
    return absl::OkStatus();
  }

  absl::Status StartDocument() {
    if (std::exchange(started_, true)) return writer_->Append(separator_);
    return absl::OkStatus();
  }
  absl::Status Append(absl::string_view bytes) { return writer_->Append(bytes); }
  absl::Status Seal() { return writer_->Seal(); }
  absl::Status Finish() { return writer_->Finish(); }

  std::vector<PackedFile> Files() const {
    std::vector<PackedFile> files;
    for (size_t i = 0; i < writer_->paths().size(); ++i) files.push_back({writer_->paths()[i], writer_->TokensOf(i)});
    return files;
  }

 private:
  static absl::Status CheckNotInput(const std::string& path, const std::vector<Document>& documents) {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) return absl::OkStatus();
    for (const Document& document : documents) {
      if (document.device == st.st_dev && document.inode == st.st_ino) {
        return absl::InvalidArgumentError(absl::StrCat(path, " is an input and an output; choose another output"));
      }
    }
    return absl::OkStatus();
  }

  // A glob over the new files would take in an earlier pack's with them.
  absl::Status CheckNoLeftovers(const std::vector<std::string>& paths) const {
    const std::filesystem::path output(output_);
    const std::string folder = output.has_parent_path() ? output.parent_path().string() : ".";
    absl::StatusOr<std::vector<std::string>> names = fs_->List(folder);
    if (absl::IsNotFound(names.status())) return absl::OkStatus();
    if (!names.ok()) return names.status();
    std::set<std::string> wanted;
    for (const std::string& path : paths) wanted.insert(std::filesystem::path(path).filename().string());
    const std::string stem = output.stem().string();
    const std::string extension = output.extension().string();
    for (const std::string& name : *names) {
      const bool numbered = IsNumbered(name, stem, extension);
      if ((numbered || name == output.filename().string()) && wanted.count(name) == 0) {
        return absl::FailedPreconditionError(absl::StrCat((std::filesystem::path(folder) / name).string(),
                                                          " is there from an earlier pack and is not one of the ",
                                                          paths.size(), " files of this one; remove it first"));
      }
    }
    return absl::OkStatus();
  }

  FileSystem* const fs_;
  const std::string separator_;
  const std::string output_;
  int64_t most_ = 0;
  int64_t total_ = 0;
  bool started_ = false;
  std::unique_ptr<ByteTokenWriter> writer_;
};

absl::Status CheckIsText(const RandomAccessFile& file, const Document& document) {
  int32_t magic = 0;
  if (document.bytes < kTokenHeaderBytes) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(file.Read(0, sizeof(magic), reinterpret_cast<char*>(&magic)));
  if (magic != kMagicU16 && magic != kMagicU32) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(document.path, " is a token file already, not text; leave it out of the inputs"));
}

// Copies bytes [begin, end) of `file` into `stream`.
absl::Status CopyPart(const RandomAccessFile& file, const Document& document, int64_t begin, int64_t end,
                      Stream* stream, std::vector<char>* buffer, const std::function<void(int64_t)>& advance) {
  if (begin == end) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(stream->StartDocument());
  for (int64_t at = begin; at < end; at += kPieceBytes) {
    const int64_t n = std::min(kPieceBytes, end - at);
    const absl::Status status = file.Read(at, n, buffer->data());
    if (absl::IsOutOfRange(status)) {
      return absl::DataLossError(absl::StrCat(document.path, " became shorter while it was packed; pack again"));
    }
    MUSTER_RETURN_IF_ERROR(status);
    MUSTER_RETURN_IF_ERROR(stream->Append({buffer->data(), static_cast<size_t>(n)}));
    advance(n);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PackResult> PackBytes(FileSystem* fs, const std::vector<std::string>& inputs, const std::string& output,
                                     const PackOptions& options, const PackProgress& progress) {
  MUSTER_RETURN_IF_ERROR(CheckOptions(output, options));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<Document> documents, FindDocuments(inputs));
  const bool with_val = options.val_fraction > 0;
  const auto train_bytes = [&](const Document& document) {
    return document.bytes - static_cast<int64_t>(static_cast<double>(document.bytes) * options.val_fraction);
  };

  PackResult result;
  Stream train(fs, options, output);
  Stream val(fs, options, options.val_output);
  for (const Document& document : documents) {
    train.CountDocument(train_bytes(document));
    val.CountDocument(document.bytes - train_bytes(document));
    result.bytes += document.bytes;
  }
  result.documents = static_cast<int64_t>(documents.size());
  MUSTER_RETURN_IF_ERROR(train.Prepare(documents));
  if (with_val) MUSTER_RETURN_IF_ERROR(val.Prepare(documents));

  int64_t done = 0;
  const auto advance = [&](int64_t bytes) {
    done += bytes;
    if (progress) progress(done, result.bytes);
  };
  std::vector<char> buffer(kPieceBytes);
  for (const Document& document : documents) {
    MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs->NewRandomAccessFile(document.path));
    MUSTER_RETURN_IF_ERROR(CheckIsText(*file, document));
    const int64_t cut = train_bytes(document);
    MUSTER_RETURN_IF_ERROR(CopyPart(*file, document, 0, cut, &train, &buffer, advance));
    if (with_val) MUSTER_RETURN_IF_ERROR(CopyPart(*file, document, cut, document.bytes, &val, &buffer, advance));
  }
  MUSTER_RETURN_IF_ERROR(train.Seal());
  if (with_val) MUSTER_RETURN_IF_ERROR(val.Seal());
  MUSTER_RETURN_IF_ERROR(train.Finish());
  result.train = train.Files();
  if (with_val) {
    MUSTER_RETURN_IF_ERROR(val.Finish());
    result.val = val.Files();
  }
  return result;
}

absl::StatusOr<TokenStats> StatTokens(FileSystem* fs, const std::string& pattern, v1::TokenFormat format) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ExpandPattern(pattern));
  TokenStats stats;
  std::vector<uint32_t> buffer(kPieceBytes / sizeof(uint32_t));
  for (const std::string& path : paths) {
    MUSTER_ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(fs, path, format));
    TokenFileStats of_file = {.path = path, .tokens = file.tokens(), .bytes_per_token = file.width()};
    for (int64_t first = 0; first < file.tokens(); first += static_cast<int64_t>(buffer.size())) {
      const int64_t n = std::min<int64_t>(static_cast<int64_t>(buffer.size()), file.tokens() - first);
      MUSTER_RETURN_IF_ERROR(file.Read(first, absl::MakeSpan(buffer).subspan(0, n)));
      of_file.max_token = std::max<int64_t>(of_file.max_token, *std::max_element(buffer.begin(), buffer.begin() + n));
    }
    stats.tokens += of_file.tokens;
    stats.max_token = std::max(stats.max_token, of_file.max_token);
    stats.files.push_back(std::move(of_file));
  }
  return stats;
}

}  // namespace muster::worker
