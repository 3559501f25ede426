#ifndef MUSTER_WORKER_TRAIN_SAMPLER_H_
#define MUSTER_WORKER_TRAIN_SAMPLER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::worker {

// A token drawn from softmax(logits / temperature) by 64 random bits; the likeliest one (the first of them) at
// temperature 0. Logits are finite, and at least one.
int32_t PickToken(absl::Span<const float> logits, double temperature, uint64_t bits);

// Tokens as text: below 256 a byte, others as "<300>". The result is valid UTF-8 that is safe to print: bytes that are
// not part of a character, and control characters but newline and tab, become U+FFFD.
std::string TextOf(absl::Span<const int32_t> tokens);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_TRAIN_SAMPLER_H_
