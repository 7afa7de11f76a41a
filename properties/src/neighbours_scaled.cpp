// The wrong models of scales and groups.
#include <fmt/format.h>

#include "scaled_cases.hpp"

namespace mmaudit::gen {

std::vector<Neighbour> scale_neighbours(const Instruction& instruction, const Datapath& datapath) {
  std::vector<Neighbour> out;
  const FormatSpec scale = spec_of(instruction.scale);
  const auto add = [&](std::string rule, std::string change, auto&& apply, std::string invisible = {}) {
    Datapath changed = datapath;
    apply(changed);
    if (!(changed == datapath))
      out.push_back({std::move(rule), std::move(change), changed, std::move(invisible)});
  };
  add("scales", "ignored", [](auto& x) { x.scale_use = ScaleUse::ignored; });
  add(
      "scales", "of the blocks in reverse", [](auto& x) { x.scale_use = ScaleUse::reversed; },
      scales_of(instruction) == 1 ? "there is one block" : "");
  add("NaN scale", "only beside an element that is not zero",
      [](auto& x) { x.scale_nan = ScaleNan::beside_nonzero; });
  if (scale.value_bits() < scale.storage_bits)
    add("sign of scales", "the free bit negates", [](auto& x) { x.scale_sign = ScaleSign::negates; });
  if (!scale.no_zero) {
    add("subnormal scales", "normalised", [](auto& x) { x.subnormal_scale = SubnormalRule::normalised; });
    add("subnormal scales", "flushed", [](auto& x) { x.subnormal_scale = SubnormalRule::flushed; });
  }
  if (datapath.arithmetic != Arithmetic::grouped_dot_add) return out;
  for (const int group : {datapath.group / 2, datapath.group * 2})
    add("G", fmt::format("{} -> {}", datapath.group, group),
        [&](auto& x) { x.group = static_cast<std::int16_t>(group); });
  add("group exponent", "of its largest product",
      [](auto& x) { x.group_exponent = GroupExponent::of_products; });
  add("group exponent", "of its sum", [](auto& x) { x.group_exponent = GroupExponent::of_sum; });
  add("cancelled group", "takes no part in the maximum",
      [](auto& x) { x.cancelled_group = CancelledGroup::no_part; });
  add("groups", "every product by itself", [](auto& x) { x.arithmetic = Arithmetic::fused_dot_add; });
  return out;
}

}  // namespace mmaudit::gen
