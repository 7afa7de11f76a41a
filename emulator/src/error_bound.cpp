#include "mmaudit/error_bound.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/convert.hpp"

namespace mmaudit {
namespace {

using detail::power_for_bound;

int exponent_of(double magnitude) { return static_cast<int>(detail::exponent_of_magnitude(magnitude)); }

bool truncates(const DotPlan& plan) { return plan.datapath.output.rounding == Rounding::toward_zero; }

/// Addends of a step besides c: products, or groups of them.
int addends_of(const DotPlan& plan, int products) {
  return plan.grouped ? (products + plan.datapath.group - 1) / plan.datapath.group : products;
}

/// What a step's rounding may lose when its result is below 2^(exponent + 1).
double rounding_loss(const DotPlan& plan, int exponent) {
  const double unit = power_for_bound(std::max(exponent, plan.step.output.min_exponent()) -
                                      static_cast<int>(plan.datapath.output.fraction_bits));
  return truncates(plan) ? unit : unit / 2;
}

double final_add_loss(const DotPlan& plan, int exponent) {
  const double unit =
      power_for_bound(std::max(exponent, plan.d.min_exponent()) - static_cast<int>(plan.d.fraction_bits));
  return final_add_rounding(plan.datapath) == Rounding::nearest_even ? unit / 2 : unit;
}

/// A running sum is below (magnitude + least) * growth.
struct RunningLimit {
  double least = 0, growth = 1;
};

/// What truncation leaves below `magnitude` stays below it; every rounding to nearest may add half a unit.
RunningLimit running_limit(const DotPlan& plan, double roundings) {
  if (truncates(plan) && !c_is_added_last(plan.datapath)) return {};
  const int fraction = plan.datapath.output.fraction_bits;
  return {roundings * power_for_bound(plan.step.output.min_exponent() - fraction),
          std::pow(1 + power_for_bound(-fraction), roundings)};
}

}  // namespace

std::string why_no_error_bound(const DotPlan& plan) {
  if (!plan.unpacks()) return "not a sum of products aligned to one exponent";
  if (plan.converts) return "c or D is converted beside the steps";
  if (plan.datapath.addend == AddendPlace::before_each_nearest)
    return "an addition of its own before every step";
  if (plan.datapath.alignment != Alignment::truncate_magnitude) return "alignment that does not truncate";
  if (plan.datapath.output.rounding == Rounding::down || plan.datapath.output.rounding == Rounding::up)
    return "rounding up or down";
  return {};
}

double instruction_error_bound(const DotPlan& plan, const SumFacts& facts,
                               std::optional<int> result_exponent) {
  const bool c_last = c_is_added_last(plan.datapath);
  int steps = 0;
  for_each_step(plan, [&](int, int) { ++steps; });
  const RunningLimit limit = running_limit(plan, steps + (c_last ? 1 : 0));
  const int of_sum = exponent_of((facts.magnitude + limit.least) * limit.growth);
  const int of_result = result_exponent.value_or(of_sum);
  double bound = 0;
  int step = 0;
  for_each_step(plan, [&](int, int products) {
    // The running sum enters every step but a first one without c.
    const int addends = addends_of(plan, products) + (step > 0 || !c_last ? 1 : 0);
    const int e = std::max({facts.largest_exponent, step > 0 ? of_sum : facts.largest_exponent,
                            static_cast<int>(plan.datapath.min_alignment_exponent)});
    bound += addends * power_for_bound(e - plan.datapath.fraction_bits);
    // Rounding up by a hair may raise the exponent: the error is then below half a unit of the lower one.
    bound += rounding_loss(plan, ++step == steps && !c_last ? of_result : of_sum);
  });
  if (c_last) bound += final_add_loss(plan, of_result);
  return bound;
}

ChainErrorBound::ChainErrorBound(const DotPlan& plan) : plan_(plan) {
  const bool c_last = c_is_added_last(plan.datapath);
  for_each_step(plan, [&](int, int products) {
    addends_ += addends_of(plan, products) + (steps_ > 0 || !c_last ? 1 : 0);
    ++steps_;
  });
}

bool ChainErrorBound::only_shrinks() const { return truncates(plan_) && !c_is_added_last(plan_.datapath); }

ChainErrorBound::OfLength ChainErrorBound::of_length(std::uint64_t instructions) const {
  const bool c_last = c_is_added_last(plan_.datapath);
  OfLength out;
  out.count_ = static_cast<double>(instructions);
  out.addends_ = addends_;
  out.roundings_ = steps_;
  out.final_adds_ = c_last ? 1 : 0;
  out.floor_ = plan_.datapath.min_alignment_exponent;
  out.fraction_bits_ = plan_.datapath.fraction_bits;
  out.step_least_ = plan_.step.output.min_exponent();
  out.step_unit_ = plan_.datapath.output.fraction_bits + (truncates(plan_) ? 0 : 1);
  out.final_least_ = plan_.d.min_exponent();
  out.final_unit_ =
      plan_.d.fraction_bits + (final_add_rounding(plan_.datapath) == Rounding::nearest_even ? 1 : 0);
  const double roundings = out.count_ * (steps_ + (c_last ? 1 : 0));
  const RunningLimit limit = running_limit(plan_, roundings);
  out.least_ = limit.least;
  out.growth_ = limit.growth;
  return out;
}

}  // namespace mmaudit
