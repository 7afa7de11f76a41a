// Saturation and signs of integers, and the operation on single bits.
#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (!list.spec.integer) return;
  const bool sign_a = spec_of(list.instruction.a).encoding == Encoding::signed_integer;
  const bool sign_b = spec_of(list.instruction.b).encoding == Encoding::signed_integer;

  if (list.instruction.satfinite) {
    list.add("saturation", "wraps", [](auto& x) { x.saturation = SaturationRule::never; });
    for (int block = 1; block <= list.instruction.stored_k(); block *= 2) {
      std::string invisible;
      if (block == list.instruction.stored_k()) invisible = "one step holds every k: its end is the end";
      if (!sign_a && !sign_b) invisible = "no product is negative: a sum that was clamped does not come back";
      list.add(
          "saturation", fmt::format("after every {} products", block),
          [&](auto& x) {
            x.saturation = SaturationRule::every_step;
            x.products_per_step = static_cast<std::int16_t>(block);
          },
          invisible);
    }
  } else {
    list.add("saturation", "clamps all the same", [](auto& x) { x.saturation = SaturationRule::always; });
  }
  if (list.instruction.multiply != Multiply::product) {
    list.add("bit operation", list.instruction.multiply == Multiply::xor_popc ? "and" : "xor",
             [](auto& x) { x.bit_operation = BitOperation::exchanged; });
    return;
  }
  if (!sign_a || !sign_b)
    list.add("sign of A and B", "both signed", [](auto& x) { x.integer_sign = IntegerSign::both_signed; });
  if (sign_a || sign_b)
    list.add("sign of A and B", "both unsigned",
             [](auto& x) { x.integer_sign = IntegerSign::both_unsigned; });
  if (sign_a != sign_b)
    list.add("sign of A and B", "exchanged", [](auto& x) { x.integer_sign = IntegerSign::exchanged; });
}

}  // namespace

const MutantGroup kIntegers = {60, add_to};

}  // namespace mmaudit::mutants
