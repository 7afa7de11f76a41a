#include "mmaudit/error_bound.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/convert.hpp"

namespace mmaudit {
namespace {

/// 2^exponent; zero below binary64, infinite above.
double power(int exponent) {
  if (exponent >= -1022 && exponent <= 1023) return detail::power_of_two(exponent);
  return std::ldexp(1.0, exponent);
}

/// floor(log2) of a magnitude; a subnormal or zero counts as the least normal number.
int exponent_of(double magnitude) {
  const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52 & 0x7FF);
  return field == 0 ? -1022 : field - 1023;
}

bool truncates(const DotPlan& plan) { return plan.datapath.output.rounding == Rounding::toward_zero; }

/// Addends of a step besides c: products, or groups of them.
int addends_of(const DotPlan& plan, int products) {
  return plan.grouped ? (products + plan.datapath.group - 1) / plan.datapath.group : products;
}

/// What a step's rounding may lose when its result is below 2^(exponent + 1).
double rounding_loss(const DotPlan& plan, int exponent) {
  const double unit = power(std::max(exponent, plan.step.output.min_exponent()) -
                            static_cast<int>(plan.datapath.output.fraction_bits));
  return truncates(plan) ? unit : unit / 2;
}

double final_add_loss(const DotPlan& plan, int exponent) {
  const double unit =
      power(std::max(exponent, plan.d.min_exponent()) - static_cast<int>(plan.d.fraction_bits));
  return final_add_rounding(plan.datapath) == Rounding::nearest_even ? unit / 2 : unit;
}

/// What truncation leaves below `magnitude` stays below it; every rounding to nearest may add half a unit.
double running_limit(const DotPlan& plan, double magnitude, double roundings) {
  if (truncates(plan) && !c_is_added_last(plan.datapath)) return magnitude;
  const int fraction = plan.datapath.output.fraction_bits;
  const double least = power(plan.step.output.min_exponent() - fraction);
  return (magnitude + roundings * least) * std::pow(1 + power(-fraction), roundings);
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
  const int of_sum = exponent_of(running_limit(plan, facts.magnitude, steps + (c_last ? 1 : 0)));
  const int of_result = result_exponent.value_or(of_sum);
  double bound = 0;
  int step = 0;
  for_each_step(plan, [&](int, int products) {
    // The running sum enters every step but a first one without c.
    const int addends = addends_of(plan, products) + (step > 0 || !c_last ? 1 : 0);
    const int e = std::max({facts.largest_exponent, step > 0 ? of_sum : facts.largest_exponent,
                            static_cast<int>(plan.datapath.min_alignment_exponent)});
    bound += addends * power(e - plan.datapath.fraction_bits);
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

double ChainErrorBound::operator()(std::uint64_t instructions, const SumFacts& facts) const {
  const bool c_last = c_is_added_last(plan_.datapath);
  const auto count = static_cast<double>(instructions);
  const int of_sum = exponent_of(running_limit(plan_, facts.magnitude, count * (steps_ + (c_last ? 1 : 0))));
  const int e =
      std::max({facts.largest_exponent, of_sum, static_cast<int>(plan_.datapath.min_alignment_exponent)});
  const double one = addends_ * power(e - plan_.datapath.fraction_bits) +
                     steps_ * rounding_loss(plan_, of_sum) + (c_last ? final_add_loss(plan_, of_sum) : 0);
  return count * one;
}

double total_error_bound(double magnitude) {
  const FormatSpec f32 = spec_of(Format::f32);
  return power(std::max(exponent_of(magnitude), f32.min_exponent()) - f32.fraction_bits) / 2;
}

}  // namespace mmaudit
