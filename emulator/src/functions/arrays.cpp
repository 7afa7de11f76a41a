// Many results of one function: ordinary operands of the unit's functions in a loop that a compiler makes
// vector code of (lines.hpp), the rest by evaluate().
#include <algorithm>
#include <vector>

#include "blocks.hpp"
#include "fast/float_mode.hpp"
#include "mmaudit/functions.hpp"

namespace mmaudit::functions {
namespace {

Lines made_lines() { return folded_lines(); }

}  // namespace

const Lines kLines = made_lines();

namespace {

template <Op Of>
[[gnu::always_inline]] inline void block_of(const std::uint32_t* x, std::uint32_t* result,
                                            std::uint32_t* ordinary, std::size_t count) {
  const Lines& lines = kLines;
  const double *constant = lines.constant, *linear = lines.linear, *square = lines.square;
  for (std::size_t i = 0; i < count; ++i) {
    const Place at = place_of<Of>(x[i], lines);
    result[i] = sum_at<Of>(at, constant, linear, square);
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
    default: return chain_block_for(id);
  }
  // clang-format on
}

/// x times MUFU.RCP(y), where both and the product are far from what is flushed or no number.
MMAUDIT_CLONES void fast_quotient_block(const std::uint32_t* x, std::uint32_t* inverse,
                                        std::uint32_t* ordinary, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t product = bits_of(as_float(x[i]) * as_float(inverse[i])), size = product & ~kSign;
    const std::uint32_t normal = (x[i] & ~kSign) - kLeastNormal < kInfinity - kLeastNormal ? 1 : 0;
    ordinary[i] &= normal & (size - kLeastNormal - 1 < kInfinity - kLeastNormal - 1 ? 1U : 0U);
    inverse[i] = product;
  }
}

/// All 65,536 results of each row of 16 bits, made when the first array asks.
const std::uint16_t* narrow_results(Id id) {
  static_assert(static_cast<int>(Id::tanh_bf16) - static_cast<int>(Id::ex2_f16) == 3);
  static const std::vector<std::uint16_t> results = [] {
    std::vector<std::uint16_t> all(std::size_t{4} << 16);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::uint16_t>(
          evaluate(static_cast<Id>(static_cast<std::size_t>(Id::ex2_f16) + (i >> 16)),
                   static_cast<std::uint32_t>(i & 0xFFFF), 0, kUnit));
    return all;
  }();
  return &results[(static_cast<std::size_t>(id) - static_cast<std::size_t>(Id::ex2_f16)) << 16];
}

}  // namespace

void evaluate(const Function& function, const std::uint32_t* x, const std::uint32_t* y, std::uint32_t* result,
              std::size_t count) {
  constexpr std::size_t kBlock = 1024;
  const fast::FloatMode nearest;
  if (function.bits == 16 && count >= kBlock) {
    const std::uint16_t* all = narrow_results(function.id);
    for (std::size_t i = 0; i < count; ++i) result[i] = all[x[i] & 0xFFFF];
    return;
  }
  std::uint32_t ordinary[kBlock] = {}, found[kBlock] = {};
  const Block block = block_for(function.id);
  const bool quotient = function.id == Id::c_fdividef || function.id == Id::fast_divide;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t size = std::min(kBlock, count - first);
    if (block != nullptr) block(x + first, found, ordinary, size);
    if (quotient) {
      rcp_block(y + first, found, ordinary, size);
      fast_quotient_block(x + first, found, ordinary, size);
    }
    for (std::size_t i = 0; i < size; ++i)
      result[first + i] = ordinary[i] != 0
                              ? found[i]
                              : evaluate(function.id, x[first + i], y != nullptr ? y[first + i] : 0, kUnit);
  }
}

}  // namespace mmaudit::functions
