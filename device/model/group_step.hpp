#pragma once
// One step of one element of a grouped datapath: any scales, any sum. Host and device.
//
// E is the largest exponent of the groups that take part and of C. Adding 2^(52 + E - F) with the sign of a
// number, rounding toward zero, and taking it away again cuts the number off at 2^(E - F). What is left of
// groups and C are multiples of that below 2^(E + 14), so binary64 adds them exactly.
#include <cfenv>
#include <cstdint>

#include "mmaudit/arithmetic/unpack.hpp"
#include "model/groups.hpp"

namespace mmaudit::device::groups {

inline constexpr int kDoubleBias = 1023;

MMAUDIT_HD constexpr double double_of(std::uint32_t high) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(high) << 32);
}
MMAUDIT_HD constexpr std::uint32_t high_of(double x) {
  return static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, x) >> 32);
}
/// High word of 2^exponent.
MMAUDIT_HD constexpr std::uint32_t power_of_two(int exponent) {
  return static_cast<std::uint32_t>(exponent + kDoubleBias) << 20;
}

#ifdef __CUDA_ARCH__
__device__ inline double fma_toward_zero(double x, double y, double z) { return __fma_rz(x, y, z); }
__device__ inline float float_toward_zero(double x) { return __double2float_rz(x); }
#else
/// What `compute` gives while the processor rounds toward zero.
template <typename Compute>
auto toward_zero(const Compute& compute) {
  const int before = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  const auto result = compute();
  std::fesetround(before);
  return result;
}
inline double fma_toward_zero(double x, double y, double z) {
  return toward_zero([&]() -> double {
    const volatile double a = x, b = y, c = z;
    const volatile double result = __builtin_fma(a, b, c);
    return result;
  });
}
inline float float_toward_zero(double x) {
  return toward_zero([&]() -> float {
    const volatile double a = x;
    const volatile float result = static_cast<float>(a);
    return result;
  });
}
#endif

/// A scale as a step of any scales reads it: significand and, above its four bits, exponent. Those of a row
/// and a column add up to the exponent field of a binary64.
struct ScaleCode {
  static constexpr int kSignificandBits = 4, kBiasOfRow = 512, kBiasOfColumn = kDoubleBias - kBiasOfRow;
  static constexpr int kNoPart = -400;  ///< below every floor, also beside the largest scale

  MMAUDIT_HD static constexpr std::uint16_t of(const Operand& scale, bool elements, bool of_b) {
    const bool part = elements && scale.kind == Kind::finite && scale.significand != 0;
    const int exponent = (part ? scale.exponent : kNoPart) + (of_b ? kBiasOfColumn : kBiasOfRow);
    return static_cast<std::uint16_t>(exponent << kSignificandBits | (part ? scale.significand : 0));
  }
  MMAUDIT_HD static constexpr std::uint32_t field(std::uint32_t code) { return code << 16 & 0xFFF00000U; }
  MMAUDIT_HD static constexpr std::int32_t significand(std::uint32_t code) {
    return static_cast<std::int32_t>(code & 15U);
  }
};

/// What a step needs of its datapath. Fields: as in the high word of a binary64.
struct AnyScales {
  std::uint32_t floor = 0;  ///< field of the least E
  std::uint32_t cut = 0;    ///< added to the field of E: 2^(52 + E - F)
  std::uint32_t unit = 0;   ///< added to the field of a group's scales: of its sum's last place

  MMAUDIT_HD static constexpr AnyScales of(const GroupCore& core) {
    const Datapath& datapath = core.spec.datapath;
    return {power_of_two(datapath.min_alignment_exponent),
            static_cast<std::uint32_t>(52 - datapath.fraction_bits) << 20,
            static_cast<std::uint32_t>(core.element - 2 * core.spec.scale.fraction_bits) << 20};
  }
};

inline constexpr int kGroups = kGroupDepth / 16;

/// `sums` of the products of each group in units of the least product, `some`: not 0 where one of them is not
/// 0. `row` and `column`: ScaleCode of the group's scales. `c` and the result are binary32 values; a C that
/// is infinite or a NaN stays.
MMAUDIT_HD inline double add_any_groups(const AnyScales& rules, const std::int32_t (&sums)[kGroups],
                                        const std::int32_t (&some)[kGroups],
                                        const std::uint32_t (&row)[kGroups],
                                        const std::uint32_t (&column)[kGroups], double c) {
  constexpr std::uint32_t kField = 0x7FF00000U, kSignBit = 0x80000000U;
  const auto larger = [](std::uint32_t x, std::uint32_t y) { return x > y ? x : y; };
  const std::uint32_t own = high_of(c) & kField;
  std::uint32_t top = own == 0 ? rules.floor : larger(rules.floor, larger(own, power_of_two(-126)));
  std::uint32_t field[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    field[g] = ScaleCode::field(row[g]) + ScaleCode::field(column[g]);
    if (some[g] != 0) top = larger(top, field[g]);
  }
  const std::uint32_t lift = top + rules.cut;
  const auto cut_off = [&](double x, double y, std::uint32_t sign) {
    const double start = double_of(lift | (sign & kSignBit));
    return fma_toward_zero(x, y, start) - start;
  };
  double total = cut_off(c, 1.0, high_of(c));
  for (int g = 0; g < kGroups; ++g) {
    const std::int32_t number = sums[g] * ScaleCode::significand(row[g]) * ScaleCode::significand(column[g]);
    total += cut_off(static_cast<double>(number), double_of(field[g] + rules.unit),
                     static_cast<std::uint32_t>(number));
  }
  const std::uint32_t size = high_of(total) & ~kSignBit;
  const double cut = static_cast<double>(float_toward_zero(total)) + 0.0;
  const double sum = size >= power_of_two(128) ? double_of(kField | (high_of(total) & kSignBit)) : cut;
  return own == kField ? c : sum;
}

}  // namespace mmaudit::device::groups
