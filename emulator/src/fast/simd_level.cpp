// Which levels of vector instructions there are, and which this processor has.
#include "mmaudit/matmul.hpp"
#include "mmaudit/refusal.hpp"
#ifdef MMAUDIT_FAST_X86
#include <cpuid.h>
#endif

namespace mmaudit {
namespace {

#ifdef MMAUDIT_FAST_X86
/// Conversions to binary16, of which Clang 14's __builtin_cpu_supports knows nothing.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

std::string_view name_of(SimdLevel level) {
  switch (level) {
    case SimdLevel::portable:
      return "portable";
    case SimdLevel::avx2:
      return "avx2";
    case SimdLevel::avx512:
      return "avx512";
    case SimdLevel::avx512vnni:
      return "avx512vnni";
  }
  return "unknown";
}

std::optional<SimdLevel> find_simd_level(std::string_view name) {
  for (const SimdLevel level : kSimdLevels)
    if (name_of(level) == name) return level;
  return std::nullopt;
}

bool has_simd_level(SimdLevel level) {
#ifdef MMAUDIT_FAST_X86
  switch (level) {
    case SimdLevel::portable:
      return true;
    case SimdLevel::avx2:
      return __builtin_cpu_supports("avx2") != 0 && has_f16c();
    case SimdLevel::avx512vnni:
      return __builtin_cpu_supports("avx512vnni") != 0 && has_simd_level(SimdLevel::avx512);
    case SimdLevel::avx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
#endif
  return level == SimdLevel::portable;
}

SimdLevel best_simd_level() {
  SimdLevel best = SimdLevel::portable;
  for (const SimdLevel level : kSimdLevels)
    if (has_simd_level(level)) best = level;
  return best;
}

std::string simd_levels_here() { return with_commas(names_of(kSimdLevels, has_simd_level)); }

}  // namespace mmaudit
