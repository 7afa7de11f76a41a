#pragma once
// Arrays and structures as the tests of the C interface give them.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/mmaudit.h"

namespace mmaudit {

inline constexpr const char* kF16 = "mma.m16n8k16.f32.f16.f16.f32";
inline constexpr const char* kFp8 = "wgmma.m64n64k32.f32.e4m3.e4m3";
inline constexpr const char* kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
inline constexpr const char* kScaled = "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3";

template <typename T>
mmaudit_in in(const std::vector<T>& x) {
  return {x.data(), x.size() * sizeof(T)};
}
template <typename T>
mmaudit_out out(std::vector<T>& x) {
  return {x.data(), x.size() * sizeof(T)};
}

/// Bits of any kind, the same ones every time.
template <typename T>
std::vector<T> bits(std::size_t count, std::uint64_t seed) {
  std::vector<T> x(count);
  for (T& one : x) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    one = static_cast<T>(seed >> 33);
  }
  return x;
}

template <typename T>
T zeroed() {
  T x{};
  x.size = sizeof x;
  return x;
}

inline std::string taken_json(char* text) {
  std::string copy = text == nullptr ? "" : text;
  mmaudit_free(text);
  return copy;
}

}  // namespace mmaudit
