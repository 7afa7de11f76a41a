#include "reference_integer.hpp"

#include <boost/multiprecision/cpp_int.hpp>

namespace mmaudit::oracle {
namespace {

using Integer = boost::multiprecision::cpp_int;

const Integer kModulus = Integer(std::uint64_t{1} << 32);

/// The number that the low bits of `bits` spell in two's complement or in plain binary.
Integer number_of(Format format, bool is_signed, std::uint64_t bits) {
  const Integer range = Integer(std::uint64_t{1} << spec_of(format).value_bits());
  Integer value = Integer(bits) % range;
  if (is_signed && value >= range / 2) value -= range;
  return value;
}

bool reads_signed(const Instruction& instruction, IntegerSign rule, bool of_a) {
  const auto typed = [](Format format) { return spec_of(format).encoding == Encoding::signed_integer; };
  if (rule == IntegerSign::both_signed) return true;
  if (rule == IntegerSign::both_unsigned) return false;
  return typed(of_a != (rule == IntegerSign::exchanged) ? instruction.a : instruction.b);
}

Integer clamped(const Integer& sum) {
  const Integer most = kModulus / 2 - 1, least = -kModulus / 2;
  return sum > most ? most : sum < least ? least : sum;
}

}  // namespace

std::uint64_t reference_integer_dot(const Instruction& instruction, const AccumulatorModel& row,
                                    const std::vector<std::size_t>& order, std::span<const std::uint64_t> a,
                                    std::span<const std::uint64_t> b, std::uint64_t c) {
  Integer sum = number_of(Format::s32, true, c);
  std::size_t in_step = 0;
  for (const std::size_t k : order) {
    const Integer x = number_of(instruction.a, reads_signed(instruction, row.integer_sign, true), a[k]);
    const Integer y = number_of(instruction.b, reads_signed(instruction, row.integer_sign, false), b[k]);
    bool differs = instruction.multiply == Multiply::xor_popc;
    if (instruction.multiply != Multiply::product && row.bit_operation == BitOperation::exchanged)
      differs = !differs;
    sum += differs ? Integer(x != y ? 1 : 0) : Integer(x * y);
    const bool step_ends = ++in_step == static_cast<std::size_t>(row.block);
    if (step_ends) in_step = 0;
    if (step_ends && instruction.satfinite && row.saturation == SaturationRule::every_step)
      sum = clamped(sum);
  }
  const bool clamps = row.saturation == SaturationRule::always ||
                      (instruction.satfinite && row.saturation != SaturationRule::never);
  if (clamps) sum = clamped(sum);
  return static_cast<std::uint64_t>(Integer(((sum % kModulus) + kModulus) % kModulus));
}

}  // namespace mmaudit::oracle
