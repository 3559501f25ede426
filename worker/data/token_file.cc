#include "worker/data/token_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster::worker {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian and read as they lie");

struct Header {
  int32_t magic = 0;
  int32_t version = 0;
  uint32_t count = 0;
};

Header ParseHeader(const char* bytes) {
  Header header;
  std::memcpy(&header.magic, bytes, 4);
  std::memcpy(&header.version, bytes + 4, 4);
  std::memcpy(&header.count, bytes + 8, 4);
  return header;
}

bool IsKnownMagic(int32_t magic) { return magic == kMagicU16 || magic == kMagicU32; }

absl::Status WrongMagic(const std::string& path, int32_t magic) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": magic ", magic, " is neither ", kMagicU16,
                                                 " (uint16 tokens) nor ", kMagicU32,
                                                 " (uint32 tokens); pack the data with `musterctl data pack`, or set "
                                                 "data.format to RAW_U16 if it is bare uint16"));
}

}  // namespace

std::string TokenHeaderU16(int64_t tokens) {
  std::string bytes(kTokenHeaderBytes, '\0');
  const Header header = {.magic = kMagicU16, .version = kVersionU16, .count = static_cast<uint32_t>(tokens)};
  std::memcpy(bytes.data(), &header.magic, 4);
  std::memcpy(bytes.data() + 4, &header.version, 4);
  std::memcpy(bytes.data() + 8, &header.count, 4);
  return bytes;
}

absl::StatusOr<TokenFile> TokenFile::Open(FileSystem* fs, const std::string& path, v1::TokenFormat format) {
  TokenFile result;
  result.path_ = path;
  MUSTER_ASSIGN_OR_RETURN(result.file_, fs->NewRandomAccessFile(path));
  MUSTER_ASSIGN_OR_RETURN(const int64_t size, result.file_->Size());

  if (format == v1::RAW_U16) {
    Header header;
    if (size >= kTokenHeaderBytes) {
      char bytes[12];
      MUSTER_RETURN_IF_ERROR(result.file_->Read(0, sizeof(bytes), bytes));
      header = ParseHeader(bytes);
    }
    // As tokens, its header would train the model on garbage.
    if ((header.magic == kMagicU16 && header.version == kVersionU16) ||
        (header.magic == kMagicU32 && header.version == kVersionU32)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": has a header with magic ", header.magic,
                                                     ", so it is not RAW_U16; set data.format to AUTO"));
    }
    if (size % 2 != 0) {
      return absl::DataLossError(absl::StrCat(
          path, ": ", size, " bytes are no whole number of uint16 tokens; the file is cut, or not RAW_U16"));
    }
    result.tokens_ = size / 2;
    return result;
  }
  if (format != v1::AUTO && format != v1::TOKEN_FORMAT_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": token format ", static_cast<int>(format), " is not known to this version"));
  }

  char bytes[12] = {};
  MUSTER_RETURN_IF_ERROR(result.file_->Read(0, std::min<int64_t>(size, sizeof(bytes)), bytes));
  const Header header = ParseHeader(bytes);
  if (!IsKnownMagic(header.magic)) return WrongMagic(path, header.magic);
  if (size < kTokenHeaderBytes) {
    return absl::DataLossError(absl::StrCat(path, ": ", size, " bytes are less than its header of ", kTokenHeaderBytes,
                                            "; the file is cut: copy or pack it again"));
  }
  const int32_t version = header.magic == kMagicU16 ? kVersionU16 : kVersionU32;
  if (header.version != version) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": version ", header.version, " of a file with magic ",
                                                   header.magic, ", where only version ", version,
                                                   " is known; pack the data again"));
  }
  result.width_ = header.magic == kMagicU16 ? 2 : 4;
  result.data_offset_ = kTokenHeaderBytes;
  result.tokens_ = header.count;
  const int64_t want = kTokenHeaderBytes + result.tokens_ * result.width_;
  if (size != want) {
    return absl::DataLossError(absl::StrCat(path, ": ", size, " bytes, but its header says ", result.tokens_,
                                            " tokens, which is ", want, " bytes; the file is ",
                                            size < want ? "cut" : "not what was packed", ": copy or pack it again"));
  }
  return result;
}

absl::Status TokenFile::Read(int64_t first, absl::Span<uint32_t> out) const {
  const int64_t n = static_cast<int64_t>(out.size());
  const int64_t offset = data_offset_ + first * width_;
  absl::Status status;
  if (width_ == 4) {
    status = file_->Read(offset, n * 4, reinterpret_cast<char*>(out.data()));
  } else {
    std::vector<uint16_t> narrow(out.size());
    status = file_->Read(offset, n * 2, reinterpret_cast<char*>(narrow.data()));
    if (status.ok()) std::copy(narrow.begin(), narrow.end(), out.begin());
  }
  if (absl::IsOutOfRange(status)) {
    return absl::DataLossError(absl::StrCat(path_, ": became shorter while it was read, tokens ", first, " to ",
                                            first + n, " of ", tokens_,
                                            " are gone; do not change token files under a running job"));
  }
  return status;
}

}  // namespace muster::worker
