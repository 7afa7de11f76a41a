#pragma once
// Streams, and points in time on them.
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

/// A stream that the default stream does not wait for, nor it for the default stream.
class OwnStream {
 public:
  OwnStream() { cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { cudaStreamDestroy(stream_); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

inline void wait_for(cudaStream_t stream, const Event& event) {
  cuda_check(cudaStreamWaitEvent(stream, event.get(), 0), "waiting for an event");
}

}  // namespace mmaudit::device
