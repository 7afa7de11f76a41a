#pragma once
// The fast model: a block of threads computes kBlockRows x kBlockColumns elements, each thread Rows x
// kColumns of them, through the steps of one instruction after another.
//
// A step reads its products twice. First the exponents, two columns per word, whose maximum is E. Then the
// numbers, as binary64 whose low word is zero: fma(a, b, x), x 2^(52 + E - F) or more but below twice that,
// adds the product to x's low word, cut off below 2^(E - F). A positive product is cut toward zero where the
// fma rounds down, a negative one where it rounds up. On GPUs of compute capability 9.0 and later the tensor
// core does chains of them, once rounding down over the positive products and once rounding up over the
// negative ones: A is split into its positive and its negative numbers, side by side along k, and B too, in
// the same order or in the other one. Half of the products are by zero, which changes nothing. C is the first
// addend, and x has its sign (positive on earlier GPUs). So between steps the sums stand where x stands.
//
// Most steps are tame: no exponent is so small or so large that a sum leaves the normal numbers of its
// format. A thread knows a bound of its sums, which grows with the largest exponents of each chunk, so that
// no step has to look for large ones. The steps of a chunk that may not be tame are a function of their own.
//
// The low word starts in the middle, at 2^31: a sum of less than 2^31 units in magnitude never leaves it. One
// that does (it may where `may_carry`) carries into the high word, whose last four bits were zero. No sum
// gets to 2^32 units. Subtracting the middle makes x the sum.
#include <cstdint>

#include "model/staged_steps.cuh"

namespace mmaudit::device::core {

/// The start of a step: x of every element has C in it. Returns the largest field of E + start_bias(), in its
/// place. Tame: no C below its format's least exponent, zero included, can matter.
template <bool Tame>
__device__ inline std::int32_t start_of_step(const CoreRules& rules, const Maxima& maxima, Sums<>& sums) {
  const std::int32_t to_start = (start_bias(rules) - 1023) << 20;
  std::int32_t above = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const double addend = sums.of[r][c];
      const std::uint32_t both = maxima[r][c / 2];
      // Below the field of an odd column stand bits of the even one. They come back off with x; the last four
      // are 0.
      const auto products = static_cast<std::int32_t>(c % 2 == 0 ? both << 16 : both);
      std::int32_t own = __double2hiint(addend) & kField;
      if constexpr (!Tame) own = own == 0 ? 0 : max(own, (rules.addend_min_exponent + 1023) << 20);
      const std::int32_t high = __viaddmax_s32(own, to_start, products);
      sums.of[r][c] = start_sum(addend, high);
      above = max(above, high);
    }
  }
  return above;
}

/// Some sum is outside its low word. One instruction per two sums: the compiler would test each by itself.
__device__ inline bool has_carried(const Sums<>& sums) {
  std::int32_t all = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; c += 2)
      asm("lop3.b32 %0, %0, %1, %2, 0xFE;"
          : "+r"(all)
          : "r"(__double2hiint(sums.of[r][c])), "r"(__double2hiint(sums.of[r][c + 1])));
  return (all & 1) != 0;
}

/// The end of a step: x becomes the sum, rounded. Tame: to a number that is not below the format's least
/// exponent and far from its largest, and nothing has carried.
template <Kind Of, bool Tame>
__device__ inline void finish(const CoreRules& rules, Sums<>& sums) {
  const auto keep_high = static_cast<std::int32_t>(rules.keep_mask >> 3 | 0xE0000000U),
             keep_low = static_cast<std::int32_t>(rules.keep_mask << 29);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const double x = sums.of[r][c];
      std::int32_t high = __double2hiint(x);
      if constexpr (!Tame) high = (high + 8) & ~15;  // without -1, 0 or 1 that was carried
      const double sum = x - __hiloint2double(high, kMiddle);
      if constexpr (!Tame) {
        sums.of[r][c] = round_sum<spec(Of).half>(sum, rules);
      } else if constexpr (spec(Of).half) {
        sums.of[r][c] = round_tame_half(sum);
      } else if constexpr (spec(Of).nested) {
        sums.of[r][c] = sum;
      } else {
        const std::int32_t kept = __double2hiint(sum);
        sums.of[r][c] =
            __hiloint2double(spec(Of).whole ? kept : kept & keep_high, __double2loint(sum) & keep_low);
      }
    }
  }
}

template <Kind Of>
__device__ inline int step_of(const CoreRules& rules) {
  return spec(Of).step != 0 ? spec(Of).step : rules.step;
}

/// Whether each E is so large that C is aligned tamely.
__device__ inline bool all_tame(const CoreRules& rules, const Maxima& maxima) {
  std::uint32_t least = 0x7FFF7FFFU;
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int h = 0; h < kColumns / 2; h += 2) least = __vimin3_s16x2(least, maxima[r][h], maxima[r][h + 1]);
  const int lowest =
      min(static_cast<std::int32_t>(least << 16) >> 16, static_cast<std::int32_t>(least) >> 16);
  return lowest >= (rules.least_tame + start_bias(rules)) * 16;
}

/// One step: positions [first, first + step) of the chunk.
template <Kind Of>
__device__ inline void one_step(const CoreRules& rules, const Panels& panels, bool masked, int first,
                                Sums<>& sums, Codes& codes) {
  Maxima maxima;
  find_maxima(rules, panels, first, step_of<Of>(rules), maxima);
  bool tame = all_tame(rules, maxima);
  const std::int32_t above =
      tame ? start_of_step<true>(rules, maxima, sums) : start_of_step<false>(rules, maxima, sums);
  add_products<spec(Of).step>(panels, first, step_of<Of>(rules), sums.of);
  tame =
      tame && above < (rules.most_tame + start_bias(rules)) << 20 && !(rules.may_carry && has_carried(sums));
  if (masked) operand_codes(rules, panels, first, codes);
  if (tame) {
    finish<Of, true>(rules, sums);
  } else {
    finish<Of, false>(rules, sums);
    sums.look(codes);
  }
}

/// Positions [first, end) of the chunk, whatever stands in them. Functions of their own, so that the
/// registers that they want don't slow down the tame steps. Called by whole warps.
template <Kind Of>
__device__ __noinline__ void any_steps(const CoreRules& rules, const Panels panels, bool masked, int first,
                                       int end, Sums<>& sums, Codes& codes) {
  Sums<> own = sums;
  Codes own_codes = codes;
  for (; first < end; first += step_of<Of>(rules)) one_step<Of>(rules, panels, masked, first, own, own_codes);
  own.look();
  sums = own;
  codes = own_codes;
}
template <Kind Of>
__device__ __noinline__ void finish_carried(const CoreRules& rules, Sums<>& sums) {
  Sums<> own = sums;
  finish<Of, false>(rules, own);
  sums = own;
}

/// Whether no sum of the thread can overflow in one chunk more, which its bound then takes in.
template <Kind Of>
__device__ inline bool stays_small(const CoreRules& rules, const ChunkFacts& facts, Sums<>& sums) {
  // A chunk's products are below 2^(exponent + 2) each. Rounding to nearest adds no more than that again.
  constexpr int kWidth = 3 + (spec(Of).step != 0 ? 5 : 6), kBias = 127, kLeast = -100;
  static_assert(kChunk == 1 << 5 && kCoreDepth == 1 << 6);
  const int exponent = max(max(facts.exponent, rules.floor) + kWidth, kLeast);
  const float more = __int_as_float(min(exponent + kBias, 2 * kBias + 1) << kBinary32Fraction);
  float bound = __fadd_ru(sums.bound, more);
  if (bound >= rules.limit) {
    sums.look();
    bound = __fadd_ru(sums.bound, more);
  }
  sums.bound = bound;
  return bound < rules.limit;
}

/// Positions [first, end) of the chunk.
template <Kind Of>
__device__ inline void steps(const CoreRules& rules, const Panels& panels, const ChunkFacts& facts, int first,
                             int end, Sums<>& sums, Codes& codes) {
  constexpr unsigned kAllLanes = 0xFFFFFFFFU;
  constexpr bool kNeverCarries = spec(Of).step == 4;  // 4 * 2^(F + 2) units at most, and F is at most 26
  if (__all_sync(kAllLanes, !facts.masked && stays_small<Of>(rules, facts, sums))) {
    const bool sure = facts.least >= rules.least_tame;  // of every step of the chunk
    for (; first < end; first += step_of<Of>(rules)) {
      Maxima maxima;
      find_maxima(rules, panels, first, step_of<Of>(rules), maxima);
      if (!sure && !__all_sync(kAllLanes, all_tame(rules, maxima))) break;
      start_of_step<true>(rules, maxima, sums);
      add_products<spec(Of).step>(panels, first, step_of<Of>(rules), sums.of);
      if (!kNeverCarries && rules.may_carry && __any_sync(kAllLanes, has_carried(sums))) {
        Sums<> copy = sums;  // so that `sums` itself stays in registers
        finish_carried<Of>(rules, copy);
        sums = copy;
      } else {
        finish<Of, true>(rules, sums);
      }
    }
  }
  if (first < end) {
    Sums<> copy = sums;
    any_steps<Of>(rules, panels, facts.masked, first, end, copy, codes);
    sums = copy;
  }
}

/// A sum as binary32: exact, but for one of a nested kind, which is cut off toward zero as its rounding would
/// have.
__device__ inline float narrowed(double sum) { return __double2float_rz(sum); }
__device__ inline float narrowed(float sum) { return sum; }

/// Positions [from, end) of the chunk, whole instructions.
template <Kind Of>
__device__ inline void run(const CoreRules& rules, const Panels& panels, const ChunkFacts& facts, int from,
                           int end, Held<spec(Of).addend_last>& sums, Codes& codes) {
  if constexpr (spec(Of).two_stages) {
    staged_steps<Of>(rules, panels, facts, from, end, sums);
  } else if constexpr (!spec(Of).addend_last) {
    steps<Of>(rules, panels, facts, from, end, sums, codes);
  } else {
    for (int first = from; first < end; first += rules.depth) {
      Sums<> fresh;
      steps<Of>(rules, panels, facts, first, first + rules.depth, fresh, codes);
      fresh.settle(codes);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          sums.of[r][c] = add_nearest<spec(Of).half>(sums.of[r][c], narrowed(fresh.of[r][c]), rules.nan);
    }
  }
}

/// Raw bits of C as a number. A NaN loses its bits: the rule decides which come out.
__device__ inline double to_sum(bool half, std::uint32_t bits) {
  return static_cast<double>(half ? float_of_half(static_cast<std::uint16_t>(bits)) : __uint_as_float(bits));
}
/// A value of the sums' format as raw bits of D, rounded to nearest even where D is narrower.
__device__ inline std::uint32_t from_sum(bool half, double sum, const CoreRules& rules) {
  if (sum != sum) return half ? rules.d_nan : rules.nan;
  const float number = narrowed(sum);
  return half ? half_of_float(number) : __float_as_uint(number);
}

/// Calls call.template operator()<Of>() for the kind of kernel that serves the rules.
template <typename Call>
void for_rules(const CoreRules& rules, const Call& call) {
  if (rules.two_stages)
    return rules.sums == 2                 ? call.template operator()<Kind::two_stages_in_two_sums>()
           : rules.step == kStagedStep / 2 ? call.template operator()<Kind::two_stages_4>()
                                           : call.template operator()<Kind::two_stages>();
  if (rules.half && rules.addend_last) return call.template operator()<Kind::half_addend_last>();
  if (rules.half)
    return rules.step == 4    ? call.template operator()<Kind::half_4>()
           : rules.step == 16 ? call.template operator()<Kind::half_16>()
                              : call.template operator()<Kind::half>();
  const bool whole = rules.keep_mask == ~std::uint32_t{0};
  if (rules.addend_last)
    return whole && rules.step == 16 && rules.depth <= kChunk
               ? call.template operator()<Kind::addend_last_16>()
               : call.template operator()<Kind::addend_last>();
  if (whole && rules.step == 4)
    return rules.fraction_bits <= kBinary32Fraction ? call.template operator()<Kind::nested_steps_of_4>()
                                                    : call.template operator()<Kind::steps_of_4>();
  if (whole && rules.step == 8) return call.template operator()<Kind::steps_of_8>();
  if (whole && rules.step == 16) return call.template operator()<Kind::steps_of_16>();
  if (rules.step == 32) return call.template operator()<Kind::steps_of_32>();
  return call.template operator()<Kind::any_step>();
}

}  // namespace mmaudit::device::core
