#pragma once
// Points in time on the default stream.
#include <cuda_runtime.h>

#include "run/cuda_check.hpp"

namespace mmaudit::sweeps {

class Event {
 public:
  Event() { device::cuda_check(cudaEventCreate(&event_), "creating an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() { device::cuda_check(cudaEventRecord(event_), "recording an event"); }
  [[nodiscard]] cudaEvent_t get() const { return event_; }
  /// Both must have happened.
  static double seconds(const Event& begin, const Event& end) {
    float milliseconds = 0;
    device::cuda_check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "reading an event");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace mmaudit::sweeps
