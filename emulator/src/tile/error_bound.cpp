#include "mmaudit/error_bound.hpp"

#include <algorithm>
#include <cmath>

#include "mmaudit/convert.hpp"

namespace mmaudit {
namespace {

using detail::power_for_bound;

int exponent_of(double magnitude) { return static_cast<int>(detail::exponent_of_magnitude(magnitude)); }

bool truncates(const DotSpec& spec) { return spec.datapath.output.rounding == Rounding::toward_zero; }

/// Addends of a step besides c: products, or groups of them.
int addends_of(const DotSpec& spec, int products) {
  return spec.grouped ? (products + spec.datapath.group - 1) / spec.datapath.group : products;
}

/// What a step's rounding may lose when its result is below 2^(exponent + 1).
double rounding_loss(const DotSpec& spec, int exponent) {
  const double unit = power_for_bound(std::max(exponent, spec.step.output.min_exponent()) -
                                      static_cast<int>(spec.datapath.output.fraction_bits));
  return truncates(spec) ? unit : unit / 2;
}

double final_add_loss(const DotSpec& spec, int exponent) {
  const double unit =
      power_for_bound(std::max(exponent, spec.d.min_exponent()) - static_cast<int>(spec.d.fraction_bits));
  return final_add_rounding(spec.datapath) == Rounding::nearest_even ? unit / 2 : unit;
}

/// A running sum is below (magnitude + least) * growth.
struct RunningLimit {
  double least = 0, growth = 1;
};

/// What truncation leaves below `magnitude` stays below it; every rounding to nearest may add half a unit.
RunningLimit running_limit(const DotSpec& spec, double roundings) {
  if (truncates(spec) && !c_is_added_last(spec.datapath)) return {};
  const int fraction = spec.datapath.output.fraction_bits;
  return {roundings * power_for_bound(spec.step.output.min_exponent() - fraction),
          std::pow(1 + power_for_bound(-fraction), roundings)};
}

}  // namespace

std::string why_no_error_bound(const DotSpec& spec) {
  if (!spec.unpacks()) return "not a sum of products aligned to one exponent";
  if (spec.converts) return "c or D is converted beside the steps";
  if (spec.datapath.addend == AddendPlace::before_each_nearest)
    return "an addition of its own before every step";
  if (spec.datapath.alignment != Alignment::truncate_magnitude) return "alignment that does not truncate";
  if (spec.datapath.output.rounding == Rounding::down || spec.datapath.output.rounding == Rounding::up)
    return "rounding up or down";
  return {};
}

double instruction_error_bound(const DotSpec& spec, const SumFacts& facts,
                               std::optional<int> result_exponent) {
  const bool c_last = c_is_added_last(spec.datapath);
  int steps = 0;
  for_each_step(spec, [&](int, int) { ++steps; });
  const RunningLimit limit = running_limit(spec, steps + (c_last ? 1 : 0));
  const int of_sum = exponent_of((facts.magnitude + limit.least) * limit.growth);
  const int of_result = result_exponent.value_or(of_sum);
  double bound = 0;
  int step = 0;
  for_each_step(spec, [&](int, int products) {
    // The running sum enters every step but a first one without c.
    const int addends = addends_of(spec, products) + (step > 0 || !c_last ? 1 : 0);
    const int e = std::max({facts.largest_exponent, step > 0 ? of_sum : facts.largest_exponent,
                            static_cast<int>(spec.datapath.min_alignment_exponent)});
    bound += addends * power_for_bound(e - spec.datapath.fraction_bits);
    // Rounding up by a hair may raise the exponent: the error is then below half a unit of the lower one.
    bound += rounding_loss(spec, ++step == steps && !c_last ? of_result : of_sum);
  });
  if (c_last) bound += final_add_loss(spec, of_result);
  return bound;
}

ChainErrorBound::ChainErrorBound(const DotSpec& spec) : spec_(spec) {
  const bool c_last = c_is_added_last(spec.datapath);
  for_each_step(spec, [&](int, int products) {
    addends_ += addends_of(spec, products) + (steps_ > 0 || !c_last ? 1 : 0);
    ++steps_;
  });
}

bool ChainErrorBound::only_shrinks() const { return truncates(spec_) && !c_is_added_last(spec_.datapath); }

ChainErrorBound::OfLength ChainErrorBound::of_length(std::uint64_t instructions) const {
  const bool c_last = c_is_added_last(spec_.datapath);
  OfLength out;
  out.count_ = static_cast<double>(instructions);
  out.addends_ = addends_;
  out.roundings_ = steps_;
  out.final_adds_ = c_last ? 1 : 0;
  out.floor_ = spec_.datapath.min_alignment_exponent;
  out.fraction_bits_ = spec_.datapath.fraction_bits;
  out.step_least_ = spec_.step.output.min_exponent();
  out.step_unit_ = spec_.datapath.output.fraction_bits + (truncates(spec_) ? 0 : 1);
  out.final_least_ = spec_.d.min_exponent();
  out.final_unit_ =
      spec_.d.fraction_bits + (final_add_rounding(spec_.datapath) == Rounding::nearest_even ? 1 : 0);
  const double roundings = out.count_ * (steps_ + (c_last ? 1 : 0));
  const RunningLimit limit = running_limit(spec_, roundings);
  out.least_ = limit.least;
  out.growth_ = limit.growth;
  return out;
}

}  // namespace mmaudit
