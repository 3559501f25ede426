#include "worker/comm/communicator.h"

namespace muster::worker {

int64_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return 4;
    case DataType::kBfloat16:
      return 2;
    case DataType::kInt64:
      return 8;
    case DataType::kByte:
      return 1;
  }
  return 1;
}

}  // namespace muster::worker
