// Rounding, range and special values of what leaves a step.
#include <algorithm>

#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (!list.spec.unpacks()) return;
  const Datapath& original = list.original;
  const DotSpec& spec = list.spec;
  const Reach reach = reach_of(spec);
  const FormatSpec& format = spec.d;
  const OutputRule& rule = original.output;
  const bool narrowed = spec.d.id != spec.step.output.id;
  constexpr std::pair<Rounding, std::string_view> kRoundings[] = {{Rounding::toward_zero, "toward zero"},
                                                                  {Rounding::nearest_even, "to nearest even"},
                                                                  {Rounding::down, "toward minus infinity"},
                                                                  {Rounding::up, "toward plus infinity"}};
  list.add_each("output rounding", kRoundings, rounding_of);
  for (const int bits : {rule.fraction_bits - 1, rule.fraction_bits + 1, int{format.fraction_bits}}) {
    if (bits > format.fraction_bits || bits == rule.fraction_bits) continue;
    list.add("output fraction bits", fmt::format("{} -> {}", rule.fraction_bits, bits),
             [&](auto& x) { x.output.fraction_bits = static_cast<std::uint8_t>(bits); });
  }
  // The largest sum of products that can stand beside the largest c.
  const int product_sum = reach.largest_product + 2 + floor_log2(static_cast<std::uint64_t>(2 * spec.k));
  const bool overflows = narrowed || product_sum >= format.max_exponent() - original.fraction_bits;
  list.add(
      "overflow", "largest finite number", [](auto& x) { x.output.overflow = Overflow::max_finite; },
      overflows ? ""
                : "no finite inputs overflow: beside the largest c every product is below the last bit kept");
  list.add(
      "subnormal results", "flushed", [](auto& x) { x.output.flush_subnormals = true; },
      !narrowed && reach.c_is_widened && reach.finest_product >= format.min_exponent()
          ? "binary16 c and products are never subnormal in binary32"
          : "");
  const int least_exponent = std::min(
      reach.least_product, reach.addend_in_step ? spec.step.addend.min_exponent() : format.min_exponent());
  const int finest_unit = std::max(
      std::max<int>(original.min_alignment_exponent, least_exponent) - original.fraction_bits, reach.finest);
  const int least_result = format.min_exponent() - rule.fraction_bits;
  const std::string never_rounds = !narrowed && finest_unit >= least_result
                                       ? "no sum has a bit below the least result, so none rounds to zero"
                                       : "";
  list.add(
      "sign of zero", "minus when a negative sum rounds to zero",
      [](auto& x) { x.output.zero_sign = ZeroSign::of_sum; }, never_rounds);
  list.add(
      "sign of zero", "IEEE", [](auto& x) { x.output.zero_sign = ZeroSign::ieee; },
      narrowed && reach.addend_in_step                 ? "the sum in binary32 is never -0"
      : !reach.addend_in_step && !never_rounds.empty() ? "the steps start from +0, and " + never_rounds
                                                       : "");
  list.add("NaN", "7fc00000 style quiet NaN", [](auto& x) { x.output.nan = NanRule::ieee_quiet; });
}

}  // namespace

const MutantGroup kOutput = {40, add_to};

}  // namespace mmaudit::mutants
