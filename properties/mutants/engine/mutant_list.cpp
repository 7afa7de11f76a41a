#include "mutant_list.hpp"

#include <algorithm>
#include <array>

#include "mmaudit/emulate.hpp"

namespace mmaudit {
namespace mutants {
namespace {

/// The k of each step, sorted, and of its groups: two specs with the same list are the same function of k
/// order.
std::vector<std::vector<int>> steps_of(const DotSpec& spec) {
  std::vector<std::vector<int>> steps;
  for_each_step(spec, [&](int start, int count) {
    std::vector<int> step;
    for (int i = start; i < start + count; ++i) step.push_back(evaluation_k(spec.datapath.order, spec.k, i));
    std::vector<std::vector<int>> groups;
    for (int i = 0; spec.grouped && i < count; i += spec.datapath.group) {
      const auto first = step.begin() + i;
      groups.emplace_back(first, step.begin() + std::min<int>(i + spec.datapath.group, count));
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
    : instruction(inst), original(datapath), spec(make_dot_spec(inst, datapath)) {}

std::string MutantList::why_same_steps(const Datapath& datapath) const {
  Datapath same = datapath;
  same.products_per_step = original.products_per_step;
  same.order = original.order;
  if (!(same == original) || steps_of(make_dot_spec(instruction, datapath)) != steps_of(spec)) return {};
  return "the steps hold the same k, and a step's exact sum has no order";
}

Reach reach_of(const DotSpec& spec) {
  const bool widened = spec.wide.id != Format::none;
  const auto least = [&](const FormatSpec& format) {
    if (!widened) return format.min_exponent();
    return std::max(spec.wide.min_exponent(), format.min_exponent() - format.fraction_bits);
  };
  Reach reach;
  reach.addend_in_step = spec.datapath.addend == AddendPlace::in_first_step;
  reach.c_is_widened = spec.converts && spec.step.addend.id != spec.step.output.id;
  reach.exact_alignment = spec.datapath.fraction_bits >= 2 * spec.step.output.fraction_bits &&
                          spec.datapath.products_per_step <= 2 &&
                          spec.datapath.output.rounding == Rounding::nearest_even;
  reach.least_product = least(spec.a) + least(spec.b);
  reach.largest_product = spec.a.max_exponent() + spec.b.max_exponent();
  reach.finest_product =
      spec.a.min_exponent() - spec.a.fraction_bits + spec.b.min_exponent() - spec.b.fraction_bits;
  const int finest_addend = spec.step.addend.min_exponent() - spec.step.addend.fraction_bits;
  reach.finest = reach.addend_in_step ? std::min(reach.finest_product, finest_addend) : reach.finest_product;
  const int zero_a = widened ? spec.wide.min_exponent() : spec.a.min_exponent();
  const int zero_b = widened ? spec.wide.min_exponent() : spec.b.min_exponent();
  reach.zero_exponent = std::max(
      {zero_a + spec.b.max_exponent(), spec.a.max_exponent() + zero_b, spec.step.addend.min_exponent()});
  reach.infinity = spec.a.specials == Specials::ieee || spec.b.specials == Specials::ieee;
  const int wide_minimum = widened ? spec.wide.min_exponent() : 0;
  const auto subnormal = [&](const FormatSpec& format) {
    return !widened || format.min_exponent() - format.fraction_bits < wide_minimum;
  };
  const auto field = [&](const FormatSpec& format) { return widened ? wide_minimum : format.min_exponent(); };
  reach.wide_subnormals = subnormal(spec.a) || subnormal(spec.b);
  constexpr int kNone = -10000;
  reach.subnormal_product = std::max(subnormal(spec.a) ? field(spec.a) + spec.b.max_exponent() : kNone,
                                     subnormal(spec.b) ? field(spec.b) + spec.a.max_exponent() : kNone);
  if (!spec.block_scaled()) return reach;
  const int low = 2 * spec.scale.min_exponent(), high = 2 * spec.scale.max_exponent();
  // A group brings the exponents of its scales; a product brings its own besides.
  reach.least_product = low + (spec.grouped ? 0 : reach.least_product);
  reach.largest_product += high;
  reach.finest_product += low - 2 * spec.scale.fraction_bits;
  reach.finest = std::min(reach.finest, reach.finest_product);
  reach.zero_exponent = spec.grouped ? high : reach.zero_exponent + high;
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
