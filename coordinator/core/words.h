#ifndef MUSTER_COORDINATOR_CORE_WORDS_H_
#define MUSTER_COORDINATOR_CORE_WORDS_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::coordinator {

// "1 node", "2 nodes".
inline std::string Count(int64_t n, absl::string_view noun) { return absl::StrCat(n, " ", noun, n == 1 ? "" : "s"); }

// "22:13:20.500 UTC"
inline std::string TimeOfDay(absl::Time t) { return absl::FormatTime("%H:%M:%E3S UTC", t, absl::UTCTimeZone()); }

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_WORDS_H_
