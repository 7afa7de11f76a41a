#include "reference_parts.hpp"

#include <boost/multiprecision/cpp_int.hpp>

namespace mmaudit::oracle {
namespace {

/// Throws where a sum would not fit, which it never does.
using Integer = boost::multiprecision::checked_int128_t;

const Integer kModulus = Integer(std::uint64_t{1} << 32);

/// The number that the low bits of an element spell in two's complement or in plain binary; 32 at most.
class Reader {
 public:
  Reader(Format format, bool is_signed)
      : range_(std::int64_t{1} << spec_of(format).value_bits()), signed_(is_signed) {}
  std::int64_t operator()(std::uint64_t bits) const {
    const auto value = static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(range_));
    return signed_ && value >= range_ / 2 ? value - range_ : value;
  }

 private:
  std::int64_t range_;
  bool signed_;
};

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

std::uint64_t reference_integer_dot(const Instruction& instruction, const Datapath& datapath,
                                    std::span<const std::size_t> order, std::span<const std::uint64_t> a,
                                    std::span<const std::uint64_t> b, std::uint64_t c) {
  const Reader read_a(instruction.a, reads_signed(instruction, datapath.integer_sign, true)),
      read_b(instruction.b, reads_signed(instruction, datapath.integer_sign, false));
  bool differs = instruction.multiply == Multiply::xor_popc;
  if (instruction.multiply != Multiply::product && datapath.bit_operation == BitOperation::exchanged)
    differs = !differs;
  Integer sum = Reader(Format::s32, true)(c);
  std::size_t in_step = 0;
  for (const std::size_t k : order) {
    const std::int64_t x = read_a(a[k]), y = read_b(b[k]);
    sum += differs ? std::int64_t{x != y} : x * y;
    const bool step_ends = ++in_step == static_cast<std::size_t>(datapath.products_per_step);
    if (step_ends) in_step = 0;
    if (step_ends && instruction.satfinite && datapath.saturation == SaturationRule::every_step)
      sum = clamped(sum);
  }
  const bool clamps = datapath.saturation == SaturationRule::always ||
                      (instruction.satfinite && datapath.saturation != SaturationRule::never);
  if (clamps) sum = clamped(sum);
  return static_cast<std::uint64_t>(Integer(((sum % kModulus) + kModulus) % kModulus));
}

}  // namespace mmaudit::oracle
