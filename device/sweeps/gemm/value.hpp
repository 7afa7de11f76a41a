#pragma once
// Operands of whole products: the same numbers on the GPU and, for the elements that are compared, on the
// host.
#include <cstdint>

#include "mmaudit/splitmix64.hpp"

namespace mmaudit::sweeps {

/// Element `index` of a matrix: a sum of four uniform numbers, nearly normal, standard deviation 0.29, cut to
/// a bfloat16.
MMAUDIT_HD inline std::uint16_t gemm_value(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t word = mix(seed + (index + 1) * 0x9E3779B97F4A7C15U);
  int sum = -2 * 65535;
  for (int i = 0; i < 4; ++i) sum += static_cast<int>(word >> (16 * i) & 0xFFFFU);
  constexpr float kUnit = 1.0F / (1 << 17);
  const float value = static_cast<float>(sum) * kUnit;
  return static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, value) >> 16);
}
inline constexpr std::uint64_t kGemmSeedA = 20220601, kGemmSeedB = 20250120;

}  // namespace mmaudit::sweeps
