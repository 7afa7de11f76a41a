#pragma once
// The packed conversion instructions of the PTX ISA, and their stochastic rounding: which operand lands
// where, what saturates, which random bits meet which operand. Source: PTX ISA 9.0 (forms from .bf16x2 to
// narrow formats: 9.1), "cvt".
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mmaudit/convert.hpp"

namespace mmaudit {

/// How many of 2^`bits` random numbers round the magnitude of `value` up.
struct RoundingOdds {
  std::uint64_t down = 0, up = 0;  ///< results, raw bits
  std::uint32_t ups = 0;           ///< random numbers that give `up`
  int bits = 0;
};

/// What: rounding .rs of `value`, a binary32, to `format` with `bits` random bits. The random number is added
/// to the first `bits` bits below the last place that is kept; a carry rounds the magnitude up, else it is
/// cut off. So of 2^bits random numbers exactly floor(2^bits * rest) round up, where rest in [0, 1) is what
/// is cut off, in units of the last place; an exact value never changes. The PTX ISA says "the truncated off
/// bits", and not which of them where there are more than random bits, as in a subnormal result: read as
/// above. Range: as encode_value() rounds away from or toward zero, `saturate` included. Errors: none.
RoundingOdds stochastic_odds(double value, const FormatSpec& format, int bits, bool saturate);

/// The result for one random number, of which the low `bits` bits are read.
std::uint64_t encode_stochastic(double value, const FormatSpec& format, std::uint32_t random, int bits,
                                bool saturate);

/// One destination type of the packed forms.
struct PackedType {
  enum class Satfinite : std::uint8_t { no, optional, always };
  std::string_view name;  ///< "e2m1x2"
  Format format;
  int count, pitch;            ///< elements; bits from one to the next, the first operand in the highest
  std::string_view sources;    ///< types, separated by spaces
  std::string_view roundings;  ///< of rn, rz, rp, rs
  Satfinite satfinite;
  bool relu;
  int random_bits;  ///< per element with .rs
};

/// Every destination type, in the order of the PTX ISA.
std::span<const PackedType> packed_types();

/// The packed type of that name, of destinations and sources alike; null when there is none.
const PackedType* find_packed_type(std::string_view name);

/// What: one packed cvt. `opcode` as PTX writes it ("cvt.rs.satfinite.e4m3x4.f32"); `operands` as registers:
/// binary32 values by their bits, or one register of packed elements. `random` is rbits. Element a is the
/// first operand or the highest element; a negative result becomes +0 with .relu. With .rs to .f16x2 and
/// .bf16x2 the upper half of rbits is a's and the lower b's. To the types of four, a and b share the upper
/// half, e and f the lower: b and f read it as it is, a and e with its 16 bits in reverse order. Source: PTX
/// ISA 9.1 for the halves; the order from FlashInfer's mamba/conversion.cuh, which its tests compare with
/// .e4m3x4 on sm_100a bit by bit. Errors: "FIELD: found X, allowed: Y", or "not modelled: ...", empty when
/// `result` was set.
std::string run_cvt(std::string_view opcode, std::span<const std::uint32_t> operands, std::uint32_t random,
                    std::uint32_t& result);

}  // namespace mmaudit
