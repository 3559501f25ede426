#ifndef MUSTER_COMMON_FILE_SYSTEM_H_
#define MUSTER_COMMON_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// A file being written from its start. Not thread-safe. Destroyed without Close: closed, errors lost.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual absl::Status Append(absl::string_view data) = 0;
  // What was appended survives a crash of the machine once this and FileSystem::SyncDir of its folder return OK.
  virtual absl::Status Sync() = 0;
  virtual absl::Status Close() = 0;
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual absl::StatusOr<int64_t> Size() const = 0;
  // Reads exactly `n` bytes at `offset`; OUT_OF_RANGE if the file ends before.
  virtual absl::Status Read(int64_t offset, int64_t n, char* out) const = 0;
};

// The few file operations that durable state needs, as an interface so that tests can inject faults and drop what was
// not synced. Thread-safe. Errors name the operation, the path and the system's reason: NOT_FOUND,
// PERMISSION_DENIED (also a read-only file system), RESOURCE_EXHAUSTED (no space, quota), ALREADY_EXISTS, else
// INTERNAL.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates or truncates.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(const std::string& path) = 0;
  // With parents; OK if it is there.
  virtual absl::Status CreateDirs(const std::string& path) = 0;
  // Names of the entries, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
  virtual absl::StatusOr<bool> Exists(const std::string& path) = 0;
  // Atomic; replaces a file. A folder that is there and not empty: ALREADY_EXISTS.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // A file or an empty folder.
  virtual absl::Status Remove(const std::string& path) = 0;
  virtual absl::Status SyncDir(const std::string& path) = 0;

  // The machine's file system; never destroyed.
  static FileSystem* Posix();
};

// Whole-file helpers on top of the interface.
absl::StatusOr<std::string> ReadFile(FileSystem* fs, const std::string& path);
// Written aside ("<path>.tmp"), synced, renamed, folder synced: readers see the old content or the new, never a part.
// After an error nothing is left aside.
absl::Status WriteFileAtomically(FileSystem* fs, const std::string& path, absl::string_view content);
// The same, aside at `aside`, a name in the same folder: for files that several writers may write at once.
absl::Status WriteFileAtomically(FileSystem* fs, const std::string& path, absl::string_view content,
                                 const std::string& aside);

}  // namespace muster

#endif  // MUSTER_COMMON_FILE_SYSTEM_H_
