#ifndef MUSTER_WORKER_DATA_DOCUMENTS_H_
#define MUSTER_WORKER_DATA_DOCUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::worker {

// A file of text to be packed.
struct Document {
  std::string path;
  int64_t bytes = 0;
  // Which file it is, whatever its name.
  uint64_t device = 0;
  uint64_t inode = 0;
};

// The files that `inputs` (paths, globs, folders) name, in the order given; a folder's in the order of their names,
// byte by byte, with its subfolders. In folders, names that start with '.' and what is no file are passed over, and
// links to folders are not followed. A file that is reached twice (a link) counts once, at its first place. Empty files
// are left out.
//   NOT_FOUND         an input matches nothing, or a link leads nowhere
//   INVALID_ARGUMENT  no inputs, or one that is neither file nor folder
//   PERMISSION_DENIED a folder cannot be read
absl::StatusOr<std::vector<Document>> FindDocuments(const std::vector<std::string>& inputs);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_DATA_DOCUMENTS_H_
