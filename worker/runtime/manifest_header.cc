#include "worker/runtime/manifest_header.h"

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace muster::worker {
namespace {

absl::Status Differs(int64_t step, absl::string_view field, absl::string_view then, absl::string_view now,
                     absl::string_view remedy) {
  return absl::FailedPreconditionError(absl::StrCat("cannot resume from step ", step, ": ", field, " was ", then,
                                                    " when it was saved and is ", now, " now; ", remedy));
}

std::string Print(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor* field) {
  if (field->has_presence() && !message.GetReflection()->HasField(message, field)) return "not set";
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, -1, &text);
  return text;
}

// Of flat messages.
absl::Status CheckSame(int64_t step, absl::string_view name, const google::protobuf::Message& then,
                       const google::protobuf::Message& now) {
  const google::protobuf::Descriptor* const type = then.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const std::string was = Print(then, type->field(i));
    const std::string is = Print(now, type->field(i));
    if (was != is) {
      return Differs(step, absl::StrCat("train.", name, ".", type->field(i)->name()), was, is,
                     "put the old value back, or submit a new job");
    }
  }
  return absl::OkStatus();
}

}  // namespace

v1::CheckpointManifest ManifestHeader(const v1::WorkerRef& worker, const v1::HelloReply& hello, int64_t step,
                                      int64_t samples_per_epoch) {
  const v1::TrainSpec& train = hello.spec().train();
  v1::CheckpointManifest header;
  header.set_format_version(1);
  header.set_job_id(worker.job_id());
  header.set_job_uid(hello.job_uid());
  header.set_step(step);
  header.set_generation(worker.generation());
  header.set_world_size(hello.world_size());
  header.mutable_cursor()->set_seed(train.seed());
  header.mutable_cursor()->set_consumed(static_cast<uint64_t>(step) * train.batch().global());
  header.mutable_cursor()->set_samples_per_epoch(samples_per_epoch);
  *header.mutable_schedule() = train.schedule();
  *header.mutable_model() = train.model();
  *header.mutable_batch() = train.batch();
  header.set_writer(absl::StrCat("muster ", kVersion));
  return header;
}

absl::Status CheckResume(const v1::CheckpointManifest& manifest, const v1::TrainSpec& train,
                         int64_t samples_per_epoch) {
  const int64_t step = manifest.step();
  MUSTER_RETURN_IF_ERROR(CheckSame(step, "model", manifest.model(), train.model()));
  MUSTER_RETURN_IF_ERROR(CheckSame(step, "batch", manifest.batch(), train.batch()));
  MUSTER_RETURN_IF_ERROR(CheckSame(step, "schedule", manifest.schedule(), train.schedule()));
  const v1::DataCursor& cursor = manifest.cursor();
  if (cursor.seed() != train.seed()) {
    return Differs(step, "train.seed", absl::StrCat(cursor.seed()), absl::StrCat(train.seed()),
                   "put the old value back, or submit a new job");
  }
  if (cursor.samples_per_epoch() != static_cast<uint64_t>(samples_per_epoch)) {
    return Differs(step, absl::StrCat("the number of samples in ", train.data().train()),
                   absl::StrCat(cursor.samples_per_epoch()), absl::StrCat(samples_per_epoch),
                   "bring the old files back, or submit a new job");
  }
  const uint64_t consumed = static_cast<uint64_t>(step) * train.batch().global();
  if (cursor.consumed() != consumed) {
    return Differs(step, "the number of samples consumed", absl::StrCat(cursor.consumed()), absl::StrCat(consumed),
                   "the checkpoint is not of this job's making");
  }
  return absl::OkStatus();
}

}  // namespace muster::worker
