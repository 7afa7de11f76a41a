// The wrong models of integers and single bits.
#include <fmt/format.h>

#include "integer_cases.hpp"

namespace mmaudit::gen {

std::vector<Neighbour> integer_neighbours(const Instruction& instruction, const Datapath& datapath) {
  std::vector<Neighbour> out;
  const auto add = [&](std::string rule, std::string change, auto&& apply, std::string invisible = {}) {
    Datapath changed = datapath;
    apply(changed);
    if (!(changed == datapath))
      out.push_back({std::move(rule), std::move(change), changed, std::move(invisible)});
  };
  const bool sign_a = spec_of(instruction.a).encoding == Encoding::signed_integer;
  const bool sign_b = spec_of(instruction.b).encoding == Encoding::signed_integer;

  if (instruction.satfinite) {
    add("saturation", "wraps", [](auto& x) { x.saturation = SaturationRule::never; });
    for (int block = 1; block <= instruction.stored_k(); block *= 2) {
      std::string invisible;
      if (block == instruction.stored_k()) invisible = "one step holds every k: its end is the end";
      if (!sign_a && !sign_b) invisible = "no product is negative: a sum that was clamped does not come back";
      add(
          "saturation", fmt::format("after every {} products", block),
          [&](auto& x) {
            x.saturation = SaturationRule::every_step;
            x.products_per_step = static_cast<std::int16_t>(block);
          },
          invisible);
    }
  } else {
    add("saturation", "clamps all the same", [](auto& x) { x.saturation = SaturationRule::always; });
  }
  if (instruction.multiply != Multiply::product) {
    add("bit operation", instruction.multiply == Multiply::xor_popc ? "and" : "xor",
        [](auto& x) { x.bit_operation = BitOperation::exchanged; });
    return out;
  }
  if (!sign_a || !sign_b)
    add("sign of A and B", "both signed", [](auto& x) { x.integer_sign = IntegerSign::both_signed; });
  if (sign_a || sign_b)
    add("sign of A and B", "both unsigned", [](auto& x) { x.integer_sign = IntegerSign::both_unsigned; });
  if (sign_a != sign_b)
    add("sign of A and B", "exchanged", [](auto& x) { x.integer_sign = IntegerSign::exchanged; });
  append_metadata_neighbours(instruction, datapath, out);
  return out;
}

}  // namespace mmaudit::gen
