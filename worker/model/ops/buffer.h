#ifndef MUSTER_WORKER_MODEL_OPS_BUFFER_H_
#define MUSTER_WORKER_MODEL_OPS_BUFFER_H_

#include <cstdint>
#include <memory>
#include <new>

namespace muster::worker::ops {

// `size` floats in host memory, zero at first, aligned for vector loads.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size) : size_(size), data_(new (std::align_val_t{kAlignment}) float[size]()) {}

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  int64_t size() const { return size_; }
  float& operator[](int64_t i) { return data_.get()[i]; }
  float operator[](int64_t i) const { return data_.get()[i]; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Delete {
    void operator()(float* data) const { operator delete[](data, std::align_val_t{kAlignment}); }
  };

  int64_t size_ = 0;
  std::unique_ptr<float[], Delete> data_;
};

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_BUFFER_H_
