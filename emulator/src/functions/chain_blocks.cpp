// CUDA's chains in loops: the steps of chains.hpp for ordinary operands, by the processor's own binary32.
#include "blocks.hpp"

namespace mmaudit::functions {
namespace {

struct Step {
  std::uint32_t ordinary;
  float value;
};
struct Near {
  const double *constant, *linear, *square;
  template <Op Of>
  [[gnu::always_inline]] Step unit(float x) const {
    const Place at = place_of<Of>(bits_of(x), kLines);
    return {at.ordinary, as_float(sum_at<Of>(at, constant, linear, square))};
  }
};

[[gnu::always_inline]] inline float ffma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <int Count>
[[gnu::always_inline]] inline float horner_of(float t, const Coefficients<Count>& c) {
  float sum = c.of[0];
#pragma GCC unroll 16
  for (int i = 1; i < Count; ++i) sum = ffma(t, sum, c.of[i]);
  return sum;
}

/// Without a branch, which would keep a compiler from vector code.
[[gnu::always_inline]] inline float chosen(std::uint32_t first, float a, float b) {
  const std::uint32_t mask = 0U - first;
  return as_float((bits_of(a) & mask) | (bits_of(b) & ~mask));
}

/// `limit`: of |x|.
[[gnu::always_inline]] inline Step exp_step(float x, ExpTerms terms, float limit, const Near& near) {
  const std::uint32_t ordinary = __builtin_fabsf(x) < limit ? 1 : 0;
  // .SAT by whole numbers, whose order is the numbers'.
  auto inside = static_cast<std::int32_t>(bits_of(ffma(x, as_float(terms.scaled), 0.5F)));
  inside = inside > 0 ? inside : 0;
  inside = inside < 0x3F800000 ? inside : 0x3F800000;
  // FFMA.RM: the product is exact in binary64, and its whole part is what stays.
  const auto whole =
      static_cast<std::int32_t>(static_cast<double>(as_float(static_cast<std::uint32_t>(inside))) * 252.0);
  float rest = ffma(x, terms.log2_high, static_cast<float>(126 - whole));
  rest = ffma(x, terms.log2_low, rest);
  const Step power = near.unit<Op::ex2>(rest);
  return {ordinary & power.ordinary, as_float(static_cast<std::uint32_t>(whole + 1) << 23) * power.value};
}

[[gnu::always_inline]] inline Step fast_exp_step(float x, float log2_of_base, const Near& near) {
  return near.unit<Op::ex2>(x * log2_of_base);
}
[[gnu::always_inline]] inline Step fast_log_step(float x, float ln_of_2, const Near& near) {
  const Step log = near.unit<Op::lg2>(x);
  return {log.ordinary, log.value * ln_of_2};
}

[[gnu::always_inline]] inline Step log_step(float x, const Near&) {
  const std::uint32_t bits = bits_of(x), shift = (bits - 0x3F2AAAABU) & 0xFF800000U;
  const float f = as_float(bits - shift) - 1.0F;
  const float exponent = static_cast<float>(static_cast<std::int32_t>(shift)) * 0x1p-23F;
  const float tail = ffma(f, f * horner_of(f, log_coefficients()), f);
  return {bits - kLeastNormal < kInfinity - kLeastNormal ? 1U : 0U,
          ffma(exponent, 0.69314718246459960938F, tail)};
}

/// `least`: of |x|.
[[gnu::always_inline]] inline Step log1p_step(float x, std::uint32_t least) {
  const std::uint32_t bits = bits_of(x), size = bits & ~kSign;
  // Towards zero: the low bits of binary64 are cut.
  const std::uint64_t sum = __builtin_bit_cast(std::uint64_t, 1.0 + static_cast<double>(x)) & ~0x1FFFFFFFULL;
  const std::uint32_t one_more = bits_of(static_cast<float>(__builtin_bit_cast(double, sum)));
  const std::uint32_t shift = (one_more - 0x3F400000U) & 0xFF800000U;
  const float f = as_float(bits - shift) + ffma(as_float(0x40800000U - shift), 0.25F, -1.0F);
  const float exponent = static_cast<float>(static_cast<std::int32_t>(shift)) * 0x1p-23F;
  const float tail = ffma(f, f * horner_of(f, log1p_coefficients()), f);
  const std::uint32_t above = x > -1 ? 1 : 0, inside = size - least < kInfinity - least ? 1 : 0;
  return {above & inside, ffma(exponent, 0.69314718246459960938F, tail)};
}

[[gnu::always_inline]] inline Step tanh_step(float x, const Near& near) {
  const float size = __builtin_fabsf(x), small = ffma(x, horner_of(x * x, tanh_coefficients()), x);
  const Step power = near.unit<Op::ex2>(size * 2.8853900432586669922F);
  const Step inverse = near.unit<Op::rcp>(power.value + 1.0F);
  const float large = __builtin_copysignf(ffma(inverse.value, -2.0F, 1.0F), x);
  const std::uint32_t is_small = size < 0.60000002384185791016F ? 1 : 0;
  const std::uint32_t is_one = size >= 9.010913848876953125F ? 1 : 0;
  const float result = chosen(is_one, __builtin_copysignf(1.0F, x), large);
  return {is_small | is_one | (power.ordinary & inverse.ordinary), chosen(is_small, small, result)};
}

/// `least`: of |x|.
[[gnu::always_inline]] inline Step erf_step(float x, std::uint32_t least, const Near& near) {
  const float size = __builtin_fabsf(x), small = ffma(horner_of(x * x, erf_near_coefficients()), x, x);
  const Step power = near.unit<Op::ex2>(ffma(horner_of(size, erf_far_coefficients()), -size, -size));
  const float large = __builtin_copysignf(1.0F - power.value, x);
  const std::uint32_t is_small = size < 1.0029599666595458984F ? 1 : 0,
                      inside = bits_of(size) >= least ? 1 : 0;
  return {inside & (is_small | power.ordinary), chosen(is_small, small, large)};
}

// Rows "/fast" flush: of log1pf and erff operands are ordinary that are far from what is flushed.
constexpr std::uint32_t kFarFromFlushed = 0x20000000;
constexpr float kLog2E = 1.4426950216293334961F, kLog2Of10 = 3.3219280242919921875F;

#define MMAUDIT_CHAIN(name, step)                                                                           \
  MMAUDIT_CLONES void name##_block(const std::uint32_t* xs, std::uint32_t* result, std::uint32_t* ordinary, \
                                   std::size_t count) {                                                     \
    [[maybe_unused]] const Near near{kLines.constant, kLines.linear, kLines.square};                        \
    for (std::size_t i = 0; i < count; ++i) {                                                               \
      const float x = as_float(xs[i]);                                                                      \
      const Step one = step;                                                                                \
      result[i] = bits_of(one.value);                                                                       \
      ordinary[i] = one.ordinary;                                                                           \
    }                                                                                                       \
  }
MMAUDIT_CHAIN(exp, exp_step(x, kExp, 150.0F, near))
MMAUDIT_CHAIN(exp10, exp_step(x, kExp10, 64.0F, near))
MMAUDIT_CHAIN(fast_exp, fast_exp_step(x, kLog2E, near))
MMAUDIT_CHAIN(fast_exp10, fast_exp_step(x, kLog2Of10, near))
MMAUDIT_CHAIN(fast_log, fast_log_step(x, 0.69314718246459960938F, near))
MMAUDIT_CHAIN(fast_log10, fast_log_step(x, 0.30103000998497009277F, near))
MMAUDIT_CHAIN(log, log_step(x, near))
MMAUDIT_CHAIN(log1p, log1p_step(x, 1))
MMAUDIT_CHAIN(fast_log1p, log1p_step(x, kFarFromFlushed))
MMAUDIT_CHAIN(tanh, tanh_step(x, near))
MMAUDIT_CHAIN(erf, erf_step(x, 0, near))
MMAUDIT_CHAIN(fast_erf, erf_step(x, kFarFromFlushed, near))
#undef MMAUDIT_CHAIN

}  // namespace

Block chain_block_for(Id id) {
  // clang-format off
  switch (id) {
    case Id::expf: return exp_block;
    case Id::exp10f: return exp10_block;
    case Id::c_expf: case Id::fast_expf: return fast_exp_block;
    case Id::c_exp10f: case Id::fast_exp10f: return fast_exp10_block;
    case Id::c_logf: case Id::fast_logf: return fast_log_block;
    case Id::c_log10f: return fast_log10_block;
    case Id::logf: return log_block;
    case Id::log1pf: return log1p_block;
    case Id::fast_log1pf: return fast_log1p_block;
    case Id::tanhf: return tanh_block;
    case Id::erff: return erf_block;
    case Id::fast_erff: return fast_erf_block;
    default: return nullptr;
  }
  // clang-format on
}

}  // namespace mmaudit::functions
