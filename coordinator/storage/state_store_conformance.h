#ifndef MUSTER_COORDINATOR_STORAGE_STATE_STORE_CONFORMANCE_H_
#define MUSTER_COORDINATOR_STORAGE_STATE_STORE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include "coordinator/storage/state_store.h"
#include "gtest/gtest.h"

namespace muster::coordinator {

// How the suite makes stores of one implementation.
struct StateStoreFactory {
  std::string name;
  // A place that holds no records yet; called once a test.
  std::function<std::shared_ptr<void>()> new_place;
  // Opens the store there. The one opened before is destroyed by then.
  std::function<std::unique_ptr<StateStore>(void* place)> open;
};

// What every StateStore does. An implementation's test instantiates it:
//   INSTANTIATE_TEST_SUITE_P(Memory, StateStoreConformance, testing::Values(StateStoreFactory{...}), NameOfFactory);
class StateStoreConformance : public testing::TestWithParam<StateStoreFactory> {
 protected:
  void SetUp() override;
  void Reopen();
  std::map<std::string, std::string> Load();

  std::shared_ptr<void> place_;
  std::unique_ptr<StateStore> store_;
};

std::string NameOfFactory(const testing::TestParamInfo<StateStoreFactory>& info);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_STORAGE_STATE_STORE_CONFORMANCE_H_
