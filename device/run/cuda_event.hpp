#pragma once
// Points in time on a stream.
#include <cuda_runtime.h>

#include "run/cuda_check.hpp"

namespace mmaudit::device {

class Event {
 public:
  Event() { cuda_check(cudaEventCreate(&event_), "creating an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream = nullptr) const {
    cuda_check(cudaEventRecord(event_, stream), "recording an event");
  }
  [[nodiscard]] cudaEvent_t get() const { return event_; }
  /// Both must have happened.
  static double seconds(const Event& begin, const Event& end) {
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "reading an event");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace mmaudit::device
