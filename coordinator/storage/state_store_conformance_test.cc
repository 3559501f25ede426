#include "coordinator/storage/state_store_conformance.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "coordinator/storage/memory_state_store.h"
#include "coordinator/storage/sqlite_state_store.h"

namespace muster::coordinator {
namespace {

StateStoreFactory Memory() {
  return {"Memory", [] { return std::make_shared<MemoryStateStore::Disk>(); },
          [](void* place) -> std::unique_ptr<StateStore> {
            return std::make_unique<MemoryStateStore>(static_cast<MemoryStateStore::Disk*>(place));
          }};
}

StateStoreFactory Sqlite() {
  return {"Sqlite",
          [] {
            std::string dir = testing::TempDir() + "/storeXXXXXX";
            EXPECT_NE(::mkdtemp(dir.data()), nullptr);
            return std::shared_ptr<std::string>(new std::string(dir), [](std::string* d) {
              std::filesystem::remove_all(*d);
              delete d;
            });
          },
          [](void* place) -> std::unique_ptr<StateStore> {
            auto store = OpenSqliteStateStore(*static_cast<std::string*>(place));
            EXPECT_TRUE(store.ok()) << store.status();
            return store.ok() ? *std::move(store) : nullptr;
          }};
}

INSTANTIATE_TEST_SUITE_P(All, StateStoreConformance, testing::Values(Memory(), Sqlite()), NameOfFactory);

}  // namespace
}  // namespace muster::coordinator
