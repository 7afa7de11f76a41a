// Block scales, and the groups that they multiply.
#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (list.instruction.scale == Format::none) return;
  const FormatSpec scale = spec_of(list.instruction.scale);
  list.add("scales", "ignored", [](auto& x) { x.scale_use = ScaleUse::ignored; });
  list.add(
      "scales", "of the blocks in reverse", [](auto& x) { x.scale_use = ScaleUse::reversed; },
      scales_of(list.instruction) == 1 ? "there is one block" : "");
  list.add("NaN scale", "only beside an element that is not zero",
           [](auto& x) { x.scale_nan = ScaleNan::beside_nonzero; });
  if (scale.value_bits() < scale.storage_bits)
    list.add("sign of scales", "the free bit negates", [](auto& x) { x.scale_sign = ScaleSign::negates; });
  if (!scale.no_zero) {
    list.add("subnormal scales", "normalised",
             [](auto& x) { x.subnormal_scale = SubnormalRule::normalised; });
    list.add("subnormal scales", "flushed", [](auto& x) { x.subnormal_scale = SubnormalRule::flushed; });
  }
  if (list.original.arithmetic != Arithmetic::grouped_dot_add) return;
  for (const int group : {list.original.group / 2, list.original.group * 2})
    list.add("G", fmt::format("{} -> {}", list.original.group, group),
             [&](auto& x) { x.group = static_cast<std::int16_t>(group); });
  list.add("group exponent", "of its largest product",
           [](auto& x) { x.group_exponent = GroupExponent::of_products; });
  list.add("group exponent", "of its sum", [](auto& x) { x.group_exponent = GroupExponent::of_sum; });
  list.add("cancelled group", "takes no part in the maximum",
           [](auto& x) { x.cancelled_group = CancelledGroup::no_part; });
  list.add("groups", "every product by itself", [](auto& x) { x.arithmetic = Arithmetic::fused_dot_add; });
}

}  // namespace

const MutantGroup kScales = {80, add_to};

}  // namespace mmaudit::mutants
