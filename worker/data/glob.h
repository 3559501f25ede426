#ifndef MUSTER_WORKER_DATA_GLOB_H_
#define MUSTER_WORKER_DATA_GLOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::worker {

// The files that `pattern`, a path or a glob (glob(7)), names, in the order of their names byte by byte: the same on
// every node, whatever its locale. A path that exists is taken as it is, even with '*' or '[' in it.
//   NOT_FOUND         nothing matches
//   INVALID_ARGUMENT  the pattern is empty, or a match is not a regular file
//   PERMISSION_DENIED a folder on the way cannot be read
absl::StatusOr<std::vector<std::string>> ExpandPattern(const std::string& pattern);

// The same without a look at what the matches are: folders too.
absl::StatusOr<std::vector<std::string>> ExpandToAnything(const std::string& pattern);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_DATA_GLOB_H_
