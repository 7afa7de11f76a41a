#pragma once
// Raw bits on the device: four words at once, and binary16 beside binary32.
#include <cstdint>

namespace mmaudit::device {

/// A multiple of four, from an address that 16 divides.
template <int Count>
__device__ inline void load_words(std::uint32_t (&to)[Count], const void* from) {
  static_assert(Count % 4 == 0);
#pragma unroll
  for (int i = 0; i < Count; i += 4) {
    const uint4 x = static_cast<const uint4*>(from)[i / 4];
    to[i] = x.x;
    to[i + 1] = x.y;
    to[i + 2] = x.z;
    to[i + 3] = x.w;
  }
}

/// The same from shared memory. As an instruction: through a pointer that it has put aside the compiler would
/// read memory of any kind.
template <int Count>
__device__ inline void load_shared_words(std::uint32_t (&to)[Count], const void* from) {
  static_assert(Count % 4 == 0);
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(from));
#pragma unroll
  for (int i = 0; i < Count; i += 4)
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[i]), "=r"(to[i + 1]), "=r"(to[i + 2]), "=r"(to[i + 3])
                 : "r"(address + 4 * static_cast<std::uint32_t>(i)));
}

__device__ inline float float_of_half(std::uint16_t bits) {
  float x = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

/// To nearest even.
__device__ inline std::uint16_t half_of_float(float x) {
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

}  // namespace mmaudit::device
