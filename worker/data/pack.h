#ifndef MUSTER_WORKER_DATA_PACK_H_
#define MUSTER_WORKER_DATA_PACK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "proto/job.pb.h"

namespace muster::worker {

struct PackOptions {
  // Most tokens a file; 0: as many as the format allows (2^31 - 1). With more tokens in all there are several files of
  // nearly equal length, numbered (see PackResult), for which the job spec takes a glob.
  int64_t max_tokens_per_file = 0;
  // Put between two documents. Bytes leave no token free for an end of text, so an empty line is the mark. May be
  // empty.
  std::string separator = "\n\n";
  // In [0, 1). Above 0: the last part of each document, this fraction of its bytes rounded down, goes to `val_output`
  // and not to the training files, so that both see every kind of text, and no byte is in both.
  double val_fraction = 0;
  std::string val_output;
};

struct PackedFile {
  std::string path;
  int64_t tokens = 0;
};

struct PackResult {
  int64_t documents = 0;
  int64_t bytes = 0;
  // In order: `output`, or "train-00000-of-00002.bin" and so on for an `output` of "train.bin".
  std::vector<PackedFile> train;
  std::vector<PackedFile> val;
};

// Bytes of documents done, and in all. Called after about each mebibyte, and at the end.
using PackProgress = std::function<void(int64_t done, int64_t total)>;

// Packs text into llm.c token files, version 1: each byte is a token (vocabulary 256). `inputs` are files, globs and
// folders (documents.h). Reads and writes a bounded buffer at a time. Files are written aside and renamed once all are
// whole; after an error nothing new is left, and what was there is as it was. An error in one of the renames may leave
// the files before it.
//   INVALID_ARGUMENT     nothing to pack, options out of range, an input that is itself a token file, or an output that
//                        is an input
//   FAILED_PRECONDITION  files of an earlier pack to this output, in another number of files, would be read together
//                        with the new ones
//   DATA_LOSS            an input became shorter meanwhile
//   else                 NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED as the file system says
absl::StatusOr<PackResult> PackBytes(FileSystem* fs, const std::vector<std::string>& inputs, const std::string& output,
                                     const PackOptions& options, const PackProgress& progress);

struct TokenFileStats {
  std::string path;
  int64_t tokens = 0;
  // 2 or 4.
  int bytes_per_token = 0;
  // -1: it has no tokens.
  int64_t max_token = -1;
};

struct TokenStats {
  std::vector<TokenFileStats> files;
  int64_t tokens = 0;
  int64_t max_token = -1;
};

// Reads every token of the files that `pattern` names. Errors as TokenDataset::Open.
absl::StatusOr<TokenStats> StatTokens(FileSystem* fs, const std::string& pattern, v1::TokenFormat format);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_DATA_PACK_H_
