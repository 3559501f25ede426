#include "worker/comm/nccl_api.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::worker {
namespace {

constexpr char kLibrary[] = "libnccl.so.2";

template <typename Function>
absl::Status Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function != nullptr) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(kLibrary, " has no ", name, "; install NCCL 2.19 or newer"));
}

absl::StatusOr<const NcclApi*> Load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat("cannot load ", kLibrary, " (", dlerror(),
                                            "); install NCCL, or add its folder to LD_LIBRARY_PATH"));
  }
  auto* const api = new NcclApi;
  for (const absl::Status& s :
       {Find(library, "ncclGetUniqueId", &api->get_unique_id), Find(library, "ncclCommInitRankConfig", &api->comm_init),
        Find(library, "ncclCommGetAsyncError", &api->async_error),
        Find(library, "ncclCommFinalize", &api->comm_finalize), Find(library, "ncclCommDestroy", &api->comm_destroy),
        Find(library, "ncclCommAbort", &api->comm_abort), Find(library, "ncclAllReduce", &api->all_reduce),
        Find(library, "ncclReduceScatter", &api->reduce_scatter), Find(library, "ncclAllGather", &api->all_gather),
        Find(library, "ncclBroadcast", &api->broadcast)}) {
    if (!s.ok()) return s;
  }
  return api;
}

}  // namespace

absl::StatusOr<const NcclApi*> NcclApi::Get() {
  static const auto* const api = new absl::StatusOr<const NcclApi*>(Load());
  return *api;
}

}  // namespace muster::worker
