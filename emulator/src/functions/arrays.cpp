// Many results of one function: ordinary operands of the unit's functions in a loop that a compiler makes
// vector code of, the rest by evaluate(). Sums of a table are whole numbers below 2^53, so binary64 holds
// them exactly.
#include <algorithm>

#include "mmaudit/detail/clones.hpp"
#include "mmaudit/functions.hpp"

namespace mmaudit::functions {
namespace {

/// The tables with every binary place and the offset folded in, for an operand of 17 bits.
struct Lines {
  double constant[kSegments], linear[kSegments], square[kSegments];
  std::int32_t first[kTables], inside[kTables], dropped[kTables];
};
constexpr double power(int exponent) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(exponent + 1023) << 52);
}
constexpr Lines folded() {
  Lines out{};
  for (int name = 0; name < kTables; ++name) {
    const Quadratic& table = kUnit.quadratics[name];
    out.first[name] = table.first, out.inside[name] = table.inside, out.dropped[name] = table.dropped;
    const int end = name + 1 < kTables ? kUnit.quadratics[name + 1].first : kSegments;
    for (int i = table.first; i < end; ++i) {
      const Segment& row = kUnit.segments[i];
      out.constant[i] = row.constant * power(kBelow - table.constant_places) + table.offset;
      out.linear[i] =
          row.linear * power(kBelow - table.linear_places - kOperandBits + table.inside - table.dropped);
      out.square[i] = row.square * power(kBelow - table.square_places);
    }
  }
  return out;
}
const Lines kLines = folded();
constexpr int first_of(TableName name) { return kUnit.quadratics[static_cast<int>(name)].first; }

/// Where an ordinary operand lies: its segment, 17 bits inside it, what is added to the sum, and the result's
/// scale.
struct Place {
  std::uint32_t ordinary;  ///< 1, or 0: evaluate() does it
  std::int32_t segment;
  std::uint32_t at, sign;
  double plus;
  std::int32_t exponent;  ///< of the sum's place 2^23
};

template <Op Of>
[[gnu::always_inline]] inline Place place_of(std::uint32_t x, const Lines& lines) {
  const std::uint32_t size = x & ~kSign, fraction = x & kFractionMask, at = fraction & 0x1FFFFU;
  const auto top = static_cast<std::int32_t>(fraction >> kOperandBits);
  const std::int32_t exponent = static_cast<std::int32_t>(size >> kFractionBits) - 127, odd = exponent & 1;
  const std::uint32_t positive = x - kLeastNormal < kInfinity - kLeastNormal ? 1 : 0;
  if constexpr (Of == Op::ex2) {
    const std::uint32_t ordinary = size < 0x42F80000U ? 1 : 0;
    const auto whole = static_cast<std::int32_t>(as_float(size & (0U - ordinary)) * 0x1p23F);
    const std::int32_t below = (whole & static_cast<std::int32_t>(kFractionMask)) == 0 ? 0 : 1;
    const std::int32_t point = x != size ? -whole - below : whole;
    const std::uint32_t inside = static_cast<std::uint32_t>(point) & kFractionMask;
    return {ordinary,
            first_of(TableName::ex2) + static_cast<std::int32_t>(inside >> kOperandBits),
            inside & 0x1FFFFU,
            0,
            0,
            point >> kFractionBits};
  } else if constexpr (Of == Op::lg2) {
    return {
        positive & (x != 0x3F800000U ? 1U : 0U), first_of(TableName::lg2) + top, at, 0, exponent * 0x1p40, 0};
  } else if constexpr (Of == Op::rcp) {
    return {(size - 0x01800000U < 0x7D000000U ? 1U : 0U) & (fraction != 0 ? 1U : 0U),
            first_of(TableName::rcp) + static_cast<std::int32_t>(fraction >> 16),
            (fraction & 0xFFFFU) << 1,
            x & kSign,
            0,
            -exponent - 1};
  } else if constexpr (Of == Op::rsq) {
    return {positive & ((fraction | static_cast<std::uint32_t>(odd)) != 0 ? 1U : 0U),
            first_of(TableName::rsq_even) + 64 * odd + top,
            at,
            0,
            0,
            -((exponent - odd) >> 1) - 1};
  } else if constexpr (Of == Op::sqrt) {
    return {positive, first_of(TableName::sqrt_even) + 64 * odd + top, at, 0, 0, (exponent - odd) >> 1};
  } else if constexpr (Of == Op::tanh) {
    const std::int32_t low = exponent < -8 ? -8 : exponent, name = kTables - 3 + (low > 2 ? 2 : low);
    const std::int32_t inside = lines.inside[name];
    return {size - 0x3B800000U < 0x05800000U ? 1U : 0U,
            lines.first[name] + static_cast<std::int32_t>(fraction >> inside),
            (fraction & ((1U << inside) - 1)) >> lines.dropped[name],
            x & kSign,
            0,
            exponent < 0 ? exponent : -1};
  } else {
    // x in turns towards zero, then in fixed point.
    const std::uint32_t ordinary = size - 0x0D800000U < 0x36000000U ? 1 : 0;
    const double product = static_cast<double>(as_float(size & (0U - ordinary))) * 0.15915493667125701904F;
    const double cut =
        __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, product) & ~0x1FFFFFFFULL);
    const auto point =
        static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<float>(cut) * 0x1p25F));
    const std::uint32_t quarter = (point >> kFractionBits) + (Of == Op::cos ? 1 : 0);
    const std::uint32_t inside = (point ^ (0U - (quarter & 1))) & kFractionMask;
    return {ordinary,
            first_of(TableName::sine) + static_cast<std::int32_t>(inside >> kOperandBits),
            inside & 0x1FFFFU,
            (quarter >> 1 & 1) << 31 ^ (Of == Op::cos ? 0 : x & kSign),
            0,
            0};
  }
}

template <Op Of>
[[gnu::always_inline]] inline void block_of(const std::uint32_t* x, std::uint32_t* result,
                                            std::uint32_t* ordinary, std::size_t count) {
  const Lines& lines = kLines;
  const double *constant = lines.constant, *linear = lines.linear, *square = lines.square;
  for (std::size_t i = 0; i < count; ++i) {
    const Place at = place_of<Of>(x[i], lines);
    double sum = constant[at.segment] + linear[at.segment] * static_cast<std::int32_t>(at.at) +
                 square[at.segment] * static_cast<std::int32_t>(square_of(at.at)) + at.plus;
    std::uint32_t sign = at.sign;
    if constexpr (Of == Op::lg2) {
      // The four low bits are dropped: of a whole number less 7.5 the nearest multiple of 16 is the one below
      // the number. Ones' complement of a negative sum is 16 below.
      const double kept = (sum - 7.5 + 0x1.8p56) - 0x1.8p56;
      sign = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, kept) >> 32) & kSign;
      sum = __builtin_fabs(kept) - static_cast<std::int32_t>(sign >> 27);
    }
    const double cut = __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, sum) & ~0x1FFFFFFFULL);
    const double scale = __builtin_bit_cast(
        double, static_cast<std::uint64_t>(at.exponent - kFractionBits - kBelow + 1023) << 52);
    result[i] = bits_of(static_cast<float>(cut * scale)) | sign;
    ordinary[i] = at.ordinary;
  }
}

// A clone each: a template can't have them.
#define MMAUDIT_BLOCK(op)                                                                           \
  MMAUDIT_CLONES void op##_block(const std::uint32_t* x, std::uint32_t* y, std::uint32_t* ordinary, \
                                 std::size_t count) {                                               \
    block_of<Op::op>(x, y, ordinary, count);                                                        \
  }
MMAUDIT_BLOCK(ex2)
MMAUDIT_BLOCK(lg2)
MMAUDIT_BLOCK(rcp)
MMAUDIT_BLOCK(rsq)
MMAUDIT_BLOCK(sqrt)
MMAUDIT_BLOCK(sin)
MMAUDIT_BLOCK(cos)
MMAUDIT_BLOCK(tanh)
#undef MMAUDIT_BLOCK

using Block = void (*)(const std::uint32_t*, std::uint32_t*, std::uint32_t*, std::size_t);
Block block_for(Id id) {
  // clang-format off
  switch (id) {
    case Id::ex2: case Id::ex2_ftz: case Id::exp2f: case Id::fast_exp2f: return ex2_block;
    case Id::lg2: case Id::lg2_ftz: case Id::c_log2f: return lg2_block;
    case Id::rcp: case Id::rcp_ftz: return rcp_block;
    case Id::rsqrt: case Id::rsqrt_ftz: case Id::rsqrtf: case Id::fast_rsqrtf: return rsq_block;
    case Id::sqrt: case Id::sqrt_ftz: case Id::fast_sqrtf: return sqrt_block;
    case Id::sin: case Id::sin_ftz: case Id::c_sinf: return sin_block;
    case Id::cos: case Id::cos_ftz: case Id::c_cosf: return cos_block;
    case Id::tanh: case Id::fast_tanhf: return tanh_block;
    default:
    return nullptr;
  }
  // clang-format on
}

}  // namespace

void evaluate(const Function& function, const std::uint32_t* x, const std::uint32_t* y, std::uint32_t* result,
              std::size_t count) {
  constexpr std::size_t kBlock = 1024;
  std::uint32_t ordinary[kBlock] = {}, found[kBlock] = {};
  const Block block = block_for(function.id);
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t size = std::min(kBlock, count - first);
    if (block != nullptr) block(x + first, found, ordinary, size);
    for (std::size_t i = 0; i < size; ++i)
      result[first + i] = ordinary[i] != 0
                              ? found[i]
                              : evaluate(function.id, x[first + i], y != nullptr ? y[first + i] : 0, kUnit);
  }
}

}  // namespace mmaudit::functions
