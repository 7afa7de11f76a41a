// Subnormals, infinities and widening of what enters.
#include <algorithm>

#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (!list.spec.unpacks()) return;
  const Datapath& original = list.original;
  const DotSpec& spec = list.spec;
  const Reach reach = reach_of(spec);
  const std::string no_subnormals =
      reach.wide_subnormals ? "" : "the operands the datapath sees are never subnormal";
  std::string subnormal_exponent = no_subnormals;
  if (subnormal_exponent.empty() && reach.subnormal_product - original.fraction_bits <= reach.finest)
    subnormal_exponent =
        fmt::format("a subnormal factor brings at most exponent {}, and no addend has a bit below 2^{}",
                    reach.subnormal_product, reach.finest);
  if (!spec.grouped)
    list.add(
        "subnormal operands", "normalised", [](auto& x) { x.subnormal_operand = SubnormalRule::normalised; },
        subnormal_exponent);
  list.add(
      "subnormal operands", "flushed", [](auto& x) { x.subnormal_operand = SubnormalRule::flushed; },
      no_subnormals);
  // In a step, c or the running sum: subnormal below the least normal of its format.
  const FormatSpec& running = reach.addend_in_step ? spec.step.addend : spec.step.output;
  const bool running_subnormal =
      (reach.addend_in_step && !reach.c_is_widened) || reach.finest_product < spec.step.output.min_exponent();
  const std::string never =
      reach.c_is_widened ? "binary16 c and products are never subnormal in binary32"
                         : "the sum between the steps is never subnormal, and c is added by an IEEE add";
  const int unit = running.min_exponent() - original.fraction_bits;
  const int running_finest = std::min(reach.finest_product, running.min_exponent() - running.fraction_bits);
  const bool lost_beside_products = reach.least_product - original.fraction_bits >= running.min_exponent();
  const bool same_alone = original.output.rounding == Rounding::toward_zero &&
                          unit <= running.min_exponent() - original.output.fraction_bits;
  list.add(
      "subnormal c", "normalised", [](auto& x) { x.subnormal_addend = SubnormalRule::normalised; },
      !running_subnormal                   ? never
      : lost_beside_products && same_alone ? "beside any product a subnormal c is lost whole, and alone it "
                                             "is cut off at the same bit either way"
      : unit <= running_finest
          ? fmt::format("a subnormal addend brings exponent {}, whose unit 2^{} keeps every bit",
                        running.min_exponent(), unit)
          : "");
  list.add(
      "subnormal c", "flushed", [](auto& x) { x.subnormal_addend = SubnormalRule::flushed; },
      running_subnormal ? "" : never);
  list.add(
      "infinity * 0", "0", [](auto& x) { x.infinity_times_zero = InfinityTimesZero::zero; },
      reach.infinity ? "" : "neither operand format has an infinity");
  if (spec.a.ignored_low_bits != 0) {
    list.add("ignored low bits", "read for NaN", [](auto& x) { x.read_ignored_bits = true; });
  }
  if (spec.wide.id != Format::none) {
    // What a subnormal of the narrow format would bring to the maximum if it were not widened.
    const auto narrow = [&](const FormatSpec& x, const FormatSpec& y) {
      return x.min_exponent() == spec.wide.min_exponent() ? -10000 : x.min_exponent() + y.max_exponent();
    };
    const int exponent = std::max(narrow(spec.a, spec.b), narrow(spec.b, spec.a));
    list.add(
        "widening", "operands used as they are", [](auto& x) { x.widen_to = Format::none; },
        exponent - original.fraction_bits <= reach.finest
            ? "every operand is the same number either way, or its exponent keeps every bit either way"
            : "");
  }
}

}  // namespace

const MutantGroup kOperands = {30, add_to};

}  // namespace mmaudit::mutants
