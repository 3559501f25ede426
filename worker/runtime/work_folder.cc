#include "worker/runtime/work_folder.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster::worker {
namespace {

absl::Status Probe(FileSystem* fs, const std::string& job_dir, const std::string& path) {
  MUSTER_RETURN_IF_ERROR(fs->CreateDirs(job_dir));
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, fs->NewWritableFile(path));
  absl::Status written = file->Append("muster");
  if (written.ok()) written = file->Sync();
  if (written.ok()) written = file->Close();
  file.reset();
  const absl::Status removed = fs->Remove(path);
  return written.ok() ? removed : written;
}

}  // namespace

absl::Status CheckWritable(FileSystem* fs, const std::string& job_dir, const v1::WorkerRef& worker) {
  const absl::Status s = Probe(fs, job_dir, absl::StrCat(job_dir, "/.probe-", worker.generation(), "-", worker.rank()));
  if (s.ok()) return s;
  const char* const remedy = absl::IsResourceExhausted(s)
                                 ? "free space there"
                                 : "name a folder that the workers' user may write to on every node";
  return absl::Status(s.code(),
                      absl::StrCat("checkpoint.dir: cannot save in ", job_dir, ": ", s.message(), "; ", remedy));
}

}  // namespace muster::worker
