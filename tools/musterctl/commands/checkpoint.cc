#include "tools/musterctl/commands/checkpoint.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/musterctl/json.h"
#include "tools/musterctl/view/lists.h"
#include "tools/musterctl/view/style.h"
#include "tools/musterctl/view/words.h"
#include "worker/checkpoint/checkpoint.h"

namespace muster::ctl {
namespace {

// <checkpoint.dir>/<job id>/step-<8 digits>
constexpr int kDepth = 2;

absl::Status FindCheckpoints(FileSystem* files, const std::string& dir, int depth, std::vector<std::string>* found) {
  MUSTER_ASSIGN_OR_RETURN(bool is_checkpoint, files->Exists(absl::StrCat(dir, "/manifest.json")));
  if (is_checkpoint) {
    found->push_back(dir);
    return absl::OkStatus();
  }
  if (depth == 0) return absl::OkStatus();
  absl::StatusOr<std::vector<std::string>> names = files->List(dir);
  // A plain file beside the folders is not of interest; the folder that was asked for must be there.
  if (!names.ok()) return depth == kDepth ? names.status() : absl::OkStatus();
  for (const std::string& name : *names) {
    // Saves that were never committed are no checkpoints.
    if (absl::StrContains(name, ".tmp-")) continue;
    MUSTER_RETURN_IF_ERROR(FindCheckpoints(files, absl::StrCat(dir, "/", name), depth - 1, found));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> CheckpointsIn(FileSystem* files, std::string dir) {
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  std::vector<std::string> found;
  MUSTER_RETURN_IF_ERROR(FindCheckpoints(files, dir, kDepth, &found));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(
        dir, ": no checkpoint in it (a folder step-<number> with manifest.json); give a job's checkpoint folder"));
  }
  return found;
}

absl::StatusOr<v1::StoredCheckpoint> FromDisk(FileSystem* files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(v1::CheckpointManifest manifest, worker::ReadManifest(files, path));
  v1::StoredCheckpoint checkpoint;
  checkpoint.set_job_id(manifest.job_id());
  checkpoint.set_step(manifest.step());
  checkpoint.set_generation(manifest.generation());
  checkpoint.set_path(path);
  for (const v1::ShardFile& file : manifest.files()) checkpoint.set_bytes(checkpoint.bytes() + file.bytes());
  checkpoint.set_published(true);
  // The chunks are many, and of use only to a reader of the data.
  manifest.clear_tensors();
  *checkpoint.mutable_manifest() = std::move(manifest);
  return checkpoint;
}

}  // namespace

absl::StatusOr<ExitCode> RunCheckpointLs(Session& session, const CheckpointLsOptions& options) {
  v1::ListCheckpointsReply reply;
  if (absl::StrContains(options.target, '/') || options.target == ".") {
    MUSTER_ASSIGN_OR_RETURN(std::vector<std::string> paths, CheckpointsIn(session.files, options.target));
    for (const std::string& path : paths) {
      MUSTER_ASSIGN_OR_RETURN(*reply.add_checkpoints(), FromDisk(session.files, path));
    }
  } else {
    MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
    MUSTER_ASSIGN_OR_RETURN(reply, client->ListCheckpoints(options.target));
  }
  std::vector<v1::StoredCheckpoint> checkpoints(reply.checkpoints().begin(), reply.checkpoints().end());
  *session.out << (session.json ? ToJson(reply) : RenderCheckpoints(session.style, checkpoints, session.clock->Now()));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunCheckpointVerify(Session& session, const CheckpointVerifyOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(std::vector<std::string> paths, CheckpointsIn(session.files, options.dir));
  int bad = 0;
  for (const std::string& path : paths) {
    absl::Status status = worker::VerifyCheckpoint(session.files, path);
    if (!status.ok()) {
      ++bad;
      *session.out << Paint(session.style, Color::kRed, "damaged") << "  " << path << "  " << status.message() << "\n";
      continue;
    }
    MUSTER_ASSIGN_OR_RETURN(v1::StoredCheckpoint checkpoint, FromDisk(session.files, path));
    *session.out << Paint(session.style, Color::kGreen, "whole") << "  " << path << "  step " << checkpoint.step()
                 << " of " << checkpoint.job_id() << ", " << Count(checkpoint.manifest().files_size(), "file") << ", "
                 << WordsOfBytes(checkpoint.bytes()) << "\n";
  }
  if (bad == 0) return ExitCode::kOk;
  *session.err << bad << " of " << Count(paths.size(), "checkpoint")
               << " damaged; a job falls back to the newest one that is whole, remove the others\n";
  return ExitCode::kFailed;
}

}  // namespace muster::ctl
