#ifndef MUSTER_WORKER_CHECKPOINT_SAFETENSORS_H_
#define MUSTER_WORKER_CHECKPOINT_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_system.h"

namespace muster::worker {

// The safetensors format (github.com/huggingface/safetensors, README): 8 bytes little-endian header length, a JSON
// object, then the tensors' bytes without holes.

struct SafetensorsEntry {
  std::string name;
  // "F32", ...
  std::string dtype;
  std::vector<int64_t> shape;
  // Of the tensor's bytes, from the start of the data.
  int64_t begin = 0;
  int64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  // In the order of their data.
  std::vector<SafetensorsEntry> entries;
  // Bytes before the data.
  int64_t data_offset = 0;
};

// Everything before the data. Padded with blanks so that the data starts at a multiple of 64 bytes. Names must be
// printable ASCII, and each once.
std::string EncodeSafetensorsHeader(const std::map<std::string, std::string>& metadata,
                                    const std::vector<SafetensorsEntry>& entries);

// Reads and validates the header of a file: DATA_LOSS, naming `path`, if it is not exactly what the format allows (F32
// tensors: also that shape and bytes agree).
absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const RandomAccessFile& file, const std::string& path);

// The metadata alone, also of a file whose data is cut. DATA_LOSS if not even the header is whole.
absl::StatusOr<std::map<std::string, std::string>> ReadSafetensorsMetadata(const RandomAccessFile& file,
                                                                           const std::string& path);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_SAFETENSORS_H_
