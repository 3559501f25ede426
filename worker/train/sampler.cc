#include "worker/train/sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::worker {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";

bool IsControl(uint32_t code) { return (code < 0x20 && code != '\n' && code != '\t') || (0x7F <= code && code < 0xA0); }

// The length of the character at the start of `text`, or 0 if there is none (RFC 3629: shortest forms, no surrogates,
// at most U+10FFFF) or it is a control character.
size_t PrintableAt(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  uint32_t code = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = 0xD800 <= code && code < 0xE000;
  return too_long || surrogate || code > 0x10FFFF || IsControl(code) ? 0 : length;
}

std::string Printable(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = PrintableAt(text);
    absl::StrAppend(&result, length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return result;
}

}  // namespace

int32_t PickToken(absl::Span<const float> logits, double temperature, uint64_t bits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  const auto likeliest = static_cast<int32_t>(best - logits.begin());
  if (temperature <= 0) return likeliest;
  std::vector<double> up_to(logits.size());
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    total += std::exp((static_cast<double>(logits[i]) - *best) / temperature);
    up_to[i] = total;
  }
  const double target = total * (static_cast<double>(bits >> 11) * 0x1p-53);
  const auto picked = std::upper_bound(up_to.begin(), up_to.end(), target);
  return picked == up_to.end() ? likeliest : static_cast<int32_t>(picked - up_to.begin());
}

std::string TextOf(absl::Span<const int32_t> tokens) {
  std::string bytes;
  for (const int32_t token : tokens) {
    if (0 <= token && token < 256) {
      bytes.push_back(static_cast<char>(token));
    } else {
      absl::StrAppend(&bytes, "<", token, ">");
    }
  }
  return Printable(bytes);
}

}  // namespace muster::worker
