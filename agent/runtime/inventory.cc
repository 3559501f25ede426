#include "agent/runtime/inventory.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

// The little of NVML's stable C interface that is needed, so that one binary serves nodes with and without it.
using NvmlDevice = struct NvmlDeviceOpaque*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlDriverNotLoaded = 9;
constexpr unsigned kNvmlTextSize = 96;

class Nvml {
 public:
  static absl::StatusOr<std::vector<v1::Slot>> List() {
    void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return absl::NotFoundError("there is no libnvidia-ml.so.1");
    Nvml nvml;
    absl::StatusOr<std::vector<v1::Slot>> slots =
        absl::InternalError("libnvidia-ml.so.1 lacks a function; update the driver");
    if (nvml.Find(library)) {
      const int rc = nvml.init_();
      if (rc == kNvmlSuccess) {
        slots = nvml.Devices();
        nvml.shutdown_();
      } else if (rc == kNvmlDriverNotLoaded) {
        slots = absl::NotFoundError("the NVIDIA driver is not loaded");
      } else {
        slots = nvml.Error("start", rc);
      }
    }
    ::dlclose(library);
    return slots;
  }

 private:
  template <typename F>
  static bool Load(void* library, const char* name, F* function) {
    *function = reinterpret_cast<F>(::dlsym(library, name));
    return *function != nullptr;
  }

  bool Find(void* library) {
    return Load(library, "nvmlInit_v2", &init_) && Load(library, "nvmlShutdown", &shutdown_) &&
           Load(library, "nvmlErrorString", &error_string_) && Load(library, "nvmlDeviceGetCount_v2", &count_) &&
           Load(library, "nvmlDeviceGetHandleByIndex_v2", &handle_) && Load(library, "nvmlDeviceGetUUID", &uuid_) &&
           Load(library, "nvmlDeviceGetName", &name_) && Load(library, "nvmlDeviceGetMemoryInfo", &memory_);
  }

  absl::Status Error(absl::string_view what, int rc) const {
    return absl::InternalError(absl::StrCat("NVML cannot ", what, ": ", error_string_(rc)));
  }

  absl::StatusOr<std::vector<v1::Slot>> Devices() const {
    unsigned count = 0;
    if (const int rc = count_(&count); rc != kNvmlSuccess) return Error("count the GPUs", rc);
    std::vector<v1::Slot> slots;
    for (unsigned i = 0; i < count; ++i) {
      NvmlDevice device = nullptr;
      char uuid[kNvmlTextSize] = {}, name[kNvmlTextSize] = {};
      NvmlMemory memory = {};
      int rc = handle_(i, &device);
      if (rc == kNvmlSuccess) rc = uuid_(device, uuid, kNvmlTextSize);
      if (rc == kNvmlSuccess) rc = name_(device, name, kNvmlTextSize);
      if (rc == kNvmlSuccess) rc = memory_(device, &memory);
      if (rc != kNvmlSuccess) return Error(absl::StrCat("read GPU ", i), rc);
      v1::Slot slot;
      slot.set_device(v1::GPU);
      slot.set_index(static_cast<int>(i));
      slot.set_uuid(uuid);
      slot.set_model(name);
      slot.set_memory_bytes(static_cast<int64_t>(memory.total));
      slots.push_back(slot);
    }
    return slots;
  }

  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*name_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
};

}  // namespace

absl::StatusOr<std::vector<v1::Slot>> ListGpus() { return Nvml::List(); }

std::vector<v1::Slot> CpuSlots(int count) {
  // Each slot's fair share.
  const int64_t memory = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  std::vector<v1::Slot> slots(count);
  for (int i = 0; i < count; ++i) {
    slots[i].set_device(v1::CPU);
    slots[i].set_index(i);
    slots[i].set_memory_bytes(memory / count);
  }
  return slots;
}

}  // namespace muster::agent
