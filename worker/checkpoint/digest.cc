#include "worker/checkpoint/digest.h"

#include <xxhash.h>

#include <algorithm>

#include "absl/strings/str_format.h"

namespace muster::worker {

Digest::Digest() : state_(XXH3_createState()) { Reset(); }
Digest::~Digest() { XXH3_freeState(state_); }

void Digest::Reset() { XXH3_64bits_reset(state_); }

void Digest::Update(absl::string_view bytes) { XXH3_64bits_update(state_, bytes.data(), bytes.size()); }

std::string Digest::Hex() const { return absl::StrFormat("%016x", XXH3_64bits_digest(state_)); }

std::string DigestOf(absl::string_view bytes) {
  return absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()));
}

bool IsDigest(absl::string_view text) {
  return text.size() == 16 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace muster::worker
