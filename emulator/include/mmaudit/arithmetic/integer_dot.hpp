#pragma once
// Integers and single bits: an exact sum, wrapped to 32 bits or clamped to them. Source: PTX ISA 9.0, "mma",
// ".satfinite" and ".bitOp"; where .satfinite clamps: docs/numerics.md.
#include <cstdint>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit {

/// How the elements of one operand are read: the low bits of the stored word, the top one of them a sign or
/// not.
struct IntegerOperand {
  std::uint32_t mask = 0;
  std::uint32_t sign = 0;  ///< 0: unsigned

  [[nodiscard]] MMAUDIT_HD constexpr std::int32_t value(std::uint64_t bits) const {
    const std::uint32_t low = static_cast<std::uint32_t>(bits) & mask;
    return static_cast<std::int32_t>((low ^ sign) - sign);
  }
};

enum class IntegerClamp : std::uint8_t { never, at_end, every_step };

/// One instruction under one datapath's rules, resolved on the host.
struct IntegerSpec {
  IntegerOperand a, b;
  bool exclusive_or = false;  ///< of single bits, whose AND is their product
  IntegerClamp clamp = IntegerClamp::never;
};

constexpr IntegerOperand integer_operand(const FormatSpec& format, bool is_signed) {
  const std::uint64_t top = std::uint64_t{1} << (format.value_bits() - 1);
  return {static_cast<std::uint32_t>(top | (top - 1)), is_signed ? static_cast<std::uint32_t>(top) : 0U};
}

/// Host only (reads the format table).
constexpr IntegerSpec integer_spec(const Instruction& instruction, const Datapath& datapath) {
  const FormatSpec a = spec_of(instruction.a), b = spec_of(instruction.b);
  bool sign_a = a.encoding == Encoding::signed_integer, sign_b = b.encoding == Encoding::signed_integer;
  switch (datapath.integer_sign) {
    case IntegerSign::of_format:
      break;
    case IntegerSign::both_signed:
      sign_a = sign_b = true;
      break;
    case IntegerSign::both_unsigned:
      sign_a = sign_b = false;
      break;
    case IntegerSign::exchanged: {
      const bool swap = sign_a;
      sign_a = sign_b;
      sign_b = swap;
      break;
    }
  }
  IntegerSpec spec{integer_operand(a, sign_a), integer_operand(b, sign_b)};
  if (instruction.multiply != Multiply::product) {
    spec.exclusive_or =
        (instruction.multiply == Multiply::xor_popc) != (datapath.bit_operation == BitOperation::exchanged);
  }
  if (datapath.saturation == SaturationRule::always) spec.clamp = IntegerClamp::at_end;
  if (instruction.satfinite && datapath.saturation == SaturationRule::once_at_end)
    spec.clamp = IntegerClamp::at_end;
  if (instruction.satfinite && datapath.saturation == SaturationRule::every_step)
    spec.clamp = IntegerClamp::every_step;
  return spec;
}

/// The largest product is 255 * 255 and no instruction has 2^15 of them: sums fit 64 bits with room.
MMAUDIT_HD constexpr std::int64_t integer_product(const IntegerSpec& spec, std::uint64_t a, std::uint64_t b) {
  const std::int32_t x = spec.a.value(a), y = spec.b.value(b);
  return spec.exclusive_or ? x ^ y : x * y;
}

MMAUDIT_HD constexpr std::int64_t clamp_to_s32(std::int64_t sum) {
  constexpr std::int64_t kMost = 0x7FFFFFFF;
  return sum > kMost ? kMost : sum < -kMost - 1 ? -kMost - 1 : sum;
}

}  // namespace mmaudit
