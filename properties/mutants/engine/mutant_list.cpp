#include "mutant_list.hpp"

#include <algorithm>
#include <array>

#include "mmaudit/emulate.hpp"

namespace mmaudit {
namespace mutants {
namespace {

/// The k of each step, sorted, and of its groups: two plans with the same list are the same function of k
/// order.
std::vector<std::vector<int>> steps_of(const DotPlan& plan) {
  std::vector<std::vector<int>> steps;
  for_each_step(plan, [&](int start, int count) {
    std::vector<int> step;
    for (int i = start; i < start + count; ++i) step.push_back(evaluation_k(plan.datapath.order, plan.k, i));
    std::vector<std::vector<int>> groups;
    for (int i = 0; plan.grouped && i < count; i += plan.datapath.group) {
      const auto first = step.begin() + i;
      groups.emplace_back(first, step.begin() + std::min<int>(i + plan.datapath.group, count));
      std::sort(groups.back().begin(), groups.back().end());
    }
    std::sort(groups.begin(), groups.end());
    std::sort(step.begin(), step.end());
    steps.push_back(step);
    steps.insert(steps.end(), groups.begin(), groups.end());
  });
  return steps;
}

}  // namespace

MutantList::MutantList(const Instruction& inst, const Datapath& datapath)
    : instruction(inst), original(datapath), plan(make_plan(inst, datapath)) {}

std::string MutantList::why_same_steps(const Datapath& datapath) const {
  Datapath same = datapath;
  same.products_per_step = original.products_per_step;
  same.order = original.order;
  if (!(same == original) || steps_of(make_plan(instruction, datapath)) != steps_of(plan)) return {};
  return "the steps hold the same k, and a step's exact sum has no order";
}

Reach reach_of(const DotPlan& plan) {
  const bool widened = plan.wide.id != Format::none;
  const auto least = [&](const FormatSpec& format) {
    if (!widened) return format.min_exponent();
    return std::max(plan.wide.min_exponent(), format.min_exponent() - format.fraction_bits);
  };
  Reach reach;
  reach.addend_in_step = plan.datapath.addend == AddendPlace::in_first_step;
  reach.c_is_widened = plan.converts && plan.step.addend.id != plan.step.output.id;
  reach.exact_alignment = plan.datapath.fraction_bits >= 2 * plan.step.output.fraction_bits &&
                          plan.datapath.products_per_step <= 2 &&
                          plan.datapath.output.rounding == Rounding::nearest_even;
  reach.least_product = least(plan.a) + least(plan.b);
  reach.largest_product = plan.a.max_exponent() + plan.b.max_exponent();
  reach.finest_product =
      plan.a.min_exponent() - plan.a.fraction_bits + plan.b.min_exponent() - plan.b.fraction_bits;
  const int finest_addend = plan.step.addend.min_exponent() - plan.step.addend.fraction_bits;
  reach.finest = reach.addend_in_step ? std::min(reach.finest_product, finest_addend) : reach.finest_product;
  const int zero_a = widened ? plan.wide.min_exponent() : plan.a.min_exponent();
  const int zero_b = widened ? plan.wide.min_exponent() : plan.b.min_exponent();
  reach.zero_exponent = std::max(
      {zero_a + plan.b.max_exponent(), plan.a.max_exponent() + zero_b, plan.step.addend.min_exponent()});
  reach.infinity = plan.a.specials == Specials::ieee || plan.b.specials == Specials::ieee;
  const int wide_minimum = widened ? plan.wide.min_exponent() : 0;
  const auto subnormal = [&](const FormatSpec& format) {
    return !widened || format.min_exponent() - format.fraction_bits < wide_minimum;
  };
  const auto field = [&](const FormatSpec& format) { return widened ? wide_minimum : format.min_exponent(); };
  reach.wide_subnormals = subnormal(plan.a) || subnormal(plan.b);
  constexpr int kNone = -10000;
  reach.subnormal_product = std::max(subnormal(plan.a) ? field(plan.a) + plan.b.max_exponent() : kNone,
                                     subnormal(plan.b) ? field(plan.b) + plan.a.max_exponent() : kNone);
  if (!plan.block_scaled()) return reach;
  const int low = 2 * plan.scale.min_exponent(), high = 2 * plan.scale.max_exponent();
  // A group brings the exponents of its scales; a product brings its own besides.
  reach.least_product = low + (plan.grouped ? 0 : reach.least_product);
  reach.largest_product += high;
  reach.finest_product += low - 2 * plan.scale.fraction_bits;
  reach.finest = std::min(reach.finest, reach.finest_product);
  reach.zero_exponent = plan.grouped ? high : reach.zero_exponent + high;
  reach.subnormal_product += high;
  return reach;
}

}  // namespace mutants

std::vector<Mutant> mutants_of(const Instruction& instruction, const Datapath& datapath) {
  static const auto groups = [] {
    std::array all{
#include "mutant_groups.hpp"
    };
    std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.order < y.order; });
    return all;
  }();
  mutants::MutantList list(instruction, datapath);
  for (const mutants::MutantGroup& group : groups) group.add_to(list);
  return list.take();
}

Backend mutant_backend(const Architecture& architecture, const Instruction& instruction,
                       const Datapath& wrong, std::string name) {
  return backend_by_datapath(architecture, std::move(name),
                             [=](const Instruction& inst, const Datapath& right, const TileView& batch) {
                               emulate(inst, inst == instruction ? wrong : right, batch);
                             });
}

}  // namespace mmaudit
