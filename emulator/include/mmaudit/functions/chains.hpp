#pragma once
// What PTX and CUDA make of the special function unit: chains of FFMA, FMUL, FADD and MUFU.
// `tables`: Tables, or FastUnit of lines.hpp. Source: the code that nvcc 13.0 makes for sm_90a, with and
// without --use_fast_math (SASS). `Mode` is that option's: it flushes, and leaves out what nvcc adds so that
// subnormal numbers come out right.
#include <cmath>

#include "mmaudit/functions/binary32.hpp"
#include "mmaudit/functions/unit.hpp"

namespace mmaudit::functions {

inline constexpr Mode kPlain{}, kFlush{.flush = true};

/// FSETP.GEU: true for a NaN, too.
MMAUDIT_HD constexpr bool at_least(std::uint32_t x, float limit) { return !(as_float(x) < limit); }
MMAUDIT_HD constexpr bool is_small(std::uint32_t x) { return size_of(x) < kLeastNormal; }
MMAUDIT_HD constexpr std::uint32_t with_sign_of(std::uint32_t x, std::uint32_t sign) {
  return size_of(x) | (sign & kSign);
}
MMAUDIT_HD constexpr std::uint32_t negated(std::uint32_t x) { return x ^ kSign; }

/// What nvcc multiplies a unit's operand with, without --use_fast_math, so that none is subnormal.
MMAUDIT_HD constexpr float scale_of(Op op, std::uint32_t x) {
  if (op == Op::ex2) return at_least(x, -126) ? 1.0F : 0.5F;
  if (op == Op::rcp && as_float(size_of(x)) > 0x1p126F) return 0.25F;
  return is_small(x) ? 0x1p24F : 1.0F;
}
MMAUDIT_HD constexpr std::uint32_t scaled(Op op, std::uint32_t x) {
  const float scale = scale_of(op, x);
  return scale == 1 ? x : mul(x, scale);
}

/// The .approx of the unit's function: MUFU of the scaled operand, and what undoes the scale.
MMAUDIT_INLINE MMAUDIT_HD constexpr std::uint32_t approx(Op op, std::uint32_t x, Mode mode,
                                                         const auto& tables) {
  const float scale = mode.flush ? 1.0F : scale_of(op, x);
  if (scale == 1) return mufu(op, x, tables);
  const std::uint32_t y = mufu(op, mul(x, scale), tables);
  if (op == Op::ex2) return mul(y, y);
  if (op == Op::lg2) return add(y, -24.0F);
  return mul(y, op == Op::rcp ? scale : op == Op::rsq ? 0x1p12F : 0x1p-12F);
}
/// x in turns, towards zero.
MMAUDIT_HD constexpr std::uint32_t turns(std::uint32_t x) {
  return mul(x, 0.15915493667125701904F, {.direction = Direction::zero});
}

MMAUDIT_HD constexpr std::uint32_t sine(Op op, std::uint32_t x, const auto& tables) {
  return mufu(op, turns(x), tables);
}

MMAUDIT_HD constexpr std::uint32_t fast_exp(std::uint32_t x, float log2_of_base, Mode mode,
                                            const auto& tables) {
  return approx(Op::ex2, mul(x, log2_of_base, mode), mode, tables);
}
MMAUDIT_HD constexpr std::uint32_t fast_log(std::uint32_t x, float ln_of_2, Mode mode, const auto& tables) {
  return mul(approx(Op::lg2, x, mode, tables), ln_of_2, mode);
}

/// expf, exp10f: x log2(base) as a whole number, which goes to the exponent, and the rest.
struct ExpTerms {
  std::uint32_t scaled;  ///< log2(base) / 252
  float log2_high, log2_low;
};
inline constexpr ExpTerms kExp = {0x3BBB989D, 1.4426950216293334961F, 1.925963033500011079e-08F};
inline constexpr ExpTerms kExp10 = {0x3C57FA62, 3.3219280242919921875F, 7.0595369550119357882e-08F};
MMAUDIT_HD constexpr std::uint32_t exp_of(std::uint32_t x, ExpTerms terms, const auto& tables) {
  std::uint32_t inside = fma(x, terms.scaled, 0.5F);
  const float value = as_float(inside);
  inside = !(value > 0) ? 0 : value >= 1 ? bits_of(1.0F) : inside;  // .SAT; a NaN becomes 0
  const std::uint32_t whole = fma(inside, 252.0F, 12582913.0F, {.direction = Direction::down});
  std::uint32_t rest = fma(x, terms.log2_high, negated(add(whole, -12583039.0F)));
  rest = fma(x, terms.log2_low, rest);
  return mul(whole << 23, mufu(Op::ex2, rest, tables));
}

template <int Count>
struct Coefficients {
  float of[Count];
};
/// The polynomial c[0] t^(n - 1) + ... + c[n - 1].
template <int Count>
MMAUDIT_HD constexpr std::uint32_t horner(std::uint32_t t, const Coefficients<Count>& c, Mode mode = {}) {
  std::uint32_t sum = bits_of(c.of[0]);
  for (int i = 1; i < Count; ++i) sum = fma(t, sum, c.of[i], mode);
  return sum;
}
MMAUDIT_HD constexpr Coefficients<9> log_coefficients() {
  return {{-as_float(0x3E055027), 0.14084610342979431152F, -0.12148627638816833496F, 0.13980610668659210205F,
           -0.16684235632419586182F, 0.20012299716472625732F, -0.24999669194221496582F,
           0.33333182334899902344F, -0.5F}};
}
MMAUDIT_HD constexpr Coefficients<10> log2_coefficients() {
  return {{as_float(0x3DC6B27F), as_float(0xBE2C7F30), as_float(0x3E2FCF2A), as_float(0xBE374E43),
           as_float(0x3E520BF4), as_float(0xBE763C8B), as_float(0x3E93BF99), as_float(0xBEB8AA49),
           as_float(0x3EF6384A), as_float(0xBF38AA3B)}};
}
MMAUDIT_HD constexpr Coefficients<9> log1p_coefficients() {
  return {{-as_float(0x3D39BF78), 0.10546888411045074463F, -0.13229703903198242188F, 0.14491446316242218018F,
           -0.16641564667224884033F, 0.19988867640495300293F, -0.25000196695327758789F,
           0.33333510160446166992F, -0.5F}};
}
MMAUDIT_HD constexpr Coefficients<5> tanh_coefficients() {
  return {{as_float(0x3C80F082), -0.052303962409496307373F, 0.1331529766321182251F, -0.33332768082618713379F,
           0.0F}};
}
MMAUDIT_HD constexpr Coefficients<7> erf_near_coefficients() {
  return {{8.4834944573231041431e-05F, -0.00082130916416645050049F, 0.0052134888246655464172F,
           -0.026868773624300956726F, 0.11284004896879196167F, -0.37612664699554443359F,
           0.12837915122509002686F}};
}
MMAUDIT_HD constexpr Coefficients<7> erf_far_coefficients() {
  return {{as_float(0x38EB4C3A), -as_float(0x3AAE005B), as_float(0x3C09919F), -as_float(0x3D24D99A),
           as_float(0x3E235519), as_float(0x3F69B4F9), as_float(0x3F210A14)}};
}

/// x is 2^exponent (1 + f); 2^-23 as large a number where it was subnormal.
struct Binade {
  std::uint32_t x, exponent, f;
};
/// `least`: the bits of the least 1 + f.
MMAUDIT_HD constexpr Binade binade_of(std::uint32_t x, std::uint32_t least) {
  const bool normal = at_least(x, 0x1p-126F);
  if (!normal) x = mul(x, 0x1p23F);
  const std::uint32_t shift = (x - least) & 0xFF800000U;
  return {
      x, fma(bits_of(static_cast<float>(static_cast<std::int32_t>(shift))), 0x1p-23F, normal ? 0.0F : -23.0F),
      add(x - shift, -1.0F)};
}
/// logf: no MUFU in it.
MMAUDIT_HD constexpr std::uint32_t log_of(std::uint32_t x) {
  const Binade at = binade_of(x, 0x3F2AAAABU);
  const auto c = log_coefficients();
  const std::uint32_t tail = fma(at.f, mul(at.f, horner(at.f, c)), at.f);
  if (size_of(at.x) == 0) return kInfinity | kSign;
  if (at.x >= kInfinity) return fma(at.x, kInfinity, kInfinity);
  return fma(at.exponent, 0.69314718246459960938F, tail);
}
/// log2f as libdevice's __nv_log2f has it, from the PTX of a kernel of Triton 3.6.
MMAUDIT_HD constexpr std::uint32_t log2_of(std::uint32_t x) {
  const Binade at = binade_of(x, 0x3F3504F3U);
  const auto c = log2_coefficients();
  const std::uint32_t tail = fma(at.f, as_float(0x3FB8AA3BU), mul(at.f, mul(at.f, horner(at.f, c))));
  if (size_of(at.x) == 0) return kInfinity | kSign;
  return at.x >= kInfinity ? fma(at.x, kInfinity, kInfinity) : add(at.exponent, tail);
}

/// log1pf: 1 + x is 2^e (1 + f) with f in [-1/4, 1/2); no MUFU in it.
MMAUDIT_HD constexpr std::uint32_t log1p_of(std::uint32_t x, Mode mode) {
  const std::uint32_t one_more = add(x, 1.0F, {mode.flush, Direction::zero});
  const std::uint32_t shift = (one_more - 0x3F400000U) & 0xFF800000U;
  const std::uint32_t f = add(x - shift, fma(0x40800000U - shift, 0.25F, -1.0F, mode), mode);
  const std::uint32_t exponent =
      mul(bits_of(static_cast<float>(static_cast<std::int32_t>(shift))), 0x1p-23F, mode);
  const auto c = log1p_coefficients();
  const std::uint32_t tail = fma(f, mul(f, horner(f, c, mode), mode), f, mode);
  std::uint32_t result = fma(exponent, 0.69314718246459960938F, tail, mode);
  if (x < kInfinity) return result;
  if (x < kSign || x > 0xBF800000U) result = fma(x, kInfinity, kInfinity, mode);  // Inf, NaN, below -1
  return size_of(mode.flush ? flushed(x) : x) == 0 ? kSign : result;
}

MMAUDIT_HD constexpr std::uint32_t tanh_of(std::uint32_t x, const auto& tables) {
  const float size = as_float(size_of(x));
  if (!(size >= 0.60000002384185791016F)) {
    const std::uint32_t square = mul(x, x);
    const auto c = tanh_coefficients();
    return fma(x, horner(square, c), x);
  }
  if (size >= 9.010913848876953125F) return with_sign_of(bits_of(1.0F), x);
  const std::uint32_t power = mufu(Op::ex2, mul(size_of(x), 2.8853900432586669922F), tables);
  return with_sign_of(fma(mufu(Op::rcp, add(power, 1.0F), tables), -2.0F, 1.0F), x);
}

MMAUDIT_HD constexpr std::uint32_t erf_of(std::uint32_t x, Mode mode, const auto& tables) {
  const bool large = as_float(size_of(x)) >= 1.0029599666595458984F;
  if (!large) {
    const auto c = erf_near_coefficients();
    return fma(horner(mul(x, x, mode), c, mode), x, x, mode);
  }
  const auto c = erf_far_coefficients();
  const std::uint32_t size = size_of(x), minus = size | kSign;
  const std::uint32_t power = mufu(Op::ex2, fma(horner(size, c, mode), minus, minus, mode), tables);
  return with_sign_of(add(negated(power), 1.0F, mode), x);
}

/// x / y and sqrt(x) to the nearest number. No quotient and no root of 24 digits is within 2^-49 of the
/// middle of two numbers, so that rounding binary64's once more is harmless.
MMAUDIT_HD constexpr std::uint32_t divided(std::uint32_t x, std::uint32_t y) {
  const double a = as_float(x), b = as_float(y);
  const double quotient = a / b;
  const std::uint32_t result = bits_of(static_cast<float>(quotient));
  return is_nan(result) ? kNan : result;
}
MMAUDIT_HD inline std::uint32_t square_root(std::uint32_t x) {
  const std::uint32_t result = bits_of(static_cast<float>(std::sqrt(static_cast<double>(as_float(x)))));
  return is_nan(result) ? kNan : result;
}
/// __fdividef and, with --use_fast_math, x / y.
MMAUDIT_HD constexpr std::uint32_t fast_divided(std::uint32_t x, std::uint32_t y, Mode mode,
                                                const auto& tables) {
  if (!mode.flush && is_small(y)) x = mul(x, 0x1p24F), y = mul(y, 0x1p24F);
  return mul(x, mufu(Op::rcp, y, tables), mode);
}

}  // namespace mmaudit::functions
