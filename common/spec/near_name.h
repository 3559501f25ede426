#ifndef MUSTER_COMMON_SPEC_NEAR_NAME_H_
#define MUSTER_COMMON_SPEC_NEAR_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

// Edits (insert, delete, replace, swap of neighbours) that turn one into the other, letter case aside.
int EditDistance(absl::string_view a, absl::string_view b);

// The name that a person who wrote `word` most likely meant; empty if none is near.
std::string NearName(absl::string_view word, const std::vector<std::string>& names);

}  // namespace muster

#endif  // MUSTER_COMMON_SPEC_NEAR_NAME_H_
