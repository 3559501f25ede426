#include "common/spec/near_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace muster {

int EditDistance(absl::string_view a, absl::string_view b) {
  // Optimal string alignment, three rows of the table at a time.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  auto same = [&](size_t i, size_t j) { return absl::ascii_tolower(a[i]) == absl::ascii_tolower(b[j]); };
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string NearName(absl::string_view word, const std::vector<std::string>& names) {
  constexpr size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return "";
  std::string best;
  int best_distance = static_cast<int>(word.size()) / 3 + 2;
  for (const std::string& name : names) {
    int distance = EditDistance(word, name);
    // All letters replaced is not a slip of the pen.
    if (distance >= static_cast<int>(std::max(word.size(), name.size()))) continue;
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace muster
