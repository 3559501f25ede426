#ifndef MUSTER_WORKER_CHECKPOINT_DIGEST_H_
#define MUSTER_WORKER_CHECKPOINT_DIGEST_H_

#include <string>

#include "absl/strings/string_view.h"

struct XXH3_state_s;

namespace muster::worker {

// XXH3-64 of bytes that come in pieces, as 16 lower-case hexadecimal digits, most significant first.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void Reset();
  void Update(absl::string_view bytes);
  std::string Hex() const;

 private:
  XXH3_state_s* const state_;
};

std::string DigestOf(absl::string_view bytes);
// 16 lower-case hexadecimal digits.
bool IsDigest(absl::string_view text);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_DIGEST_H_
