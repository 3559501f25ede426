#include "common/random_id.h"

#include <random>

#include "absl/strings/str_format.h"

namespace muster {

std::string RandomId() {
  std::random_device device;
  return absl::StrFormat("%08x%08x%08x%08x", device(), device(), device(), device());
}

}  // namespace muster
