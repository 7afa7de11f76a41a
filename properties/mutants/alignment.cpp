// F, the least alignment exponent, and how alignment cuts.
#include <algorithm>

#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (!list.spec.unpacks()) return;
  const Datapath& original = list.original;
  const DotSpec& spec = list.spec;
  const Reach reach = reach_of(spec);
  const std::string exact =
      reach.exact_alignment ? "what alignment cuts off can't decide a rounding of so few addends to nearest"
                            : "";
  for (const int change : {-1, 1}) {
    list.add(
        "F", fmt::format("{} -> {}", original.fraction_bits, original.fraction_bits + change),
        [&](auto& x) { x.fraction_bits = static_cast<std::int16_t>(x.fraction_bits + change); }, exact);
  }
  // A floor acts only above the least exponent of a non-zero addend, and only if its unit cuts a bit off.
  const int least_exponent =
      std::min(reach.least_product,
               reach.addend_in_step ? spec.step.addend.min_exponent() : spec.step.output.min_exponent());
  const int harmless = std::max(least_exponent, reach.finest + original.fraction_bits);
  constexpr int kNoFloor = -1000;
  for (const int floor :
       {original.min_alignment_exponent - 1, original.min_alignment_exponent + 1, kNoFloor, harmless + 1}) {
    if (floor == harmless + 1 &&
        (harmless <= original.min_alignment_exponent || original.min_alignment_exponent <= kNoFloor))
      continue;
    list.add(
        "floor",
        floor == kNoFloor ? fmt::format("{} -> none", original.min_alignment_exponent)
                          : fmt::format("{} -> {}", original.min_alignment_exponent, floor),
        [&](auto& x) { x.min_alignment_exponent = static_cast<std::int16_t>(floor); },
        std::max<int>(original.min_alignment_exponent, floor) <= harmless
            ? fmt::format("every floor up to {} keeps every bit of every addend that reaches it", harmless)
            : "");
  }
  list.add(
      "alignment", "toward minus infinity",
      [](auto& x) { x.alignment = Alignment::floor_toward_minus_infinity; }, exact);
  list.add(
      "alignment", "to nearest even", [](auto& x) { x.alignment = Alignment::nearest_even; }, exact);
  list.add(
      "zero rule", "zeros take part in the maximum", [](auto& x) { x.zero = ZeroRule::operand_exponent; },
      reach.zero_exponent - original.fraction_bits <= reach.finest
          ? fmt::format("a zero brings at most exponent {}, and no addend has a bit below 2^{}",
                        reach.zero_exponent, reach.finest)
          : "");
  if (spec.grouped) return;  // groups have the exponents of their scales
  list.add(
      "products", "normalised", [](auto& x) { x.product = ProductRule::normalised; }, exact);
}

}  // namespace

const MutantGroup kAlignment = {20, add_to};

}  // namespace mmaudit::mutants
