#pragma once
// How this thread rounds while a function computes.
// NOLINTBEGIN(misc-definitions-in-headers)
#include <cstdint>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace mmaudit::fast {
namespace {  // every level has its own copies

/// Rounding to nearest (or toward zero) with subnormals kept (or flushed, going in and coming out), whatever
/// the caller's thread has set.
class FloatMode {
 public:
#if defined(__SSE2__) || defined(__aarch64__)
  static constexpr bool kSets = true;  ///< can do either
#else
  static constexpr bool kSets = false;
#endif
#if defined(__SSE2__)
  explicit FloatMode(bool toward_zero = false, bool flush = false) : before_(_mm_getcsr()) {
    constexpr unsigned kMaskedExceptions = 0x1F80, kCut = 0x6000, kFlush = 0x8040;
    _mm_setcsr(kMaskedExceptions | (toward_zero ? kCut : 0U) | (flush ? kFlush : 0U));
  }
  ~FloatMode() { _mm_setcsr(before_); }
#elif defined(__aarch64__)
  explicit FloatMode(bool toward_zero = false, bool flush = false) {
    constexpr std::uint64_t kCut = 3U << 22, kFlush = 1U << 24;  // FPCR.RMode and FZ; the rest is 0
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"((toward_zero ? kCut : 0) | (flush ? kFlush : 0)) : "memory");
  }
  ~FloatMode() { asm volatile("msr fpcr, %0" : : "r"(before_) : "memory"); }
#else
  explicit FloatMode(bool = false, bool = false) {}
  ~FloatMode() = default;
#endif
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
#if defined(__aarch64__)
  std::uint64_t before_ = 0;
#else
  [[maybe_unused]] unsigned before_ = 0;
#endif
};

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
