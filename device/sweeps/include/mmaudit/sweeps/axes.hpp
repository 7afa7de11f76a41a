#pragma once
// Axes as data: what can vary, how it is spelled on the command line, what is swept unless asked otherwise.
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::sweeps {

/// One axis with the values to sweep, in order.
struct Axis {
  std::string name;
  std::vector<std::string> values;
  bool operator==(const Axis&) const = default;
};

/// One axis there is. Numbers are either any from least to most, or one of `words`, which is the order of a
/// listing.
struct AxisSpec {
  std::string_view name;
  bool number = false;
  int least = 0, most = 0;  ///< of a number
  std::string_view words;   ///< comma-separated; empty: any number in the range
  std::string_view usual,
      quick;  ///< what is swept by default and with --quick, as the command line spells it
  std::string_view what;
};

std::vector<AxisSpec> axis_specs();

/// What: "warps=[1,2,4]", "ilp=[1:6:1]" (start, end included, step), "n[pow2]=[3:8:1]" (powers of two) or
/// "init=zero". Range: values of axis_specs(); repeated values count once. Errors: InputError that names the
/// axis, what was found and what is allowed.
Axis parse_axis(std::string_view text);

/// Every axis with its usual values (or the quick ones), then replaced by `given`.
std::vector<Axis> resolve_axes(const std::vector<std::string>& given, bool quick);

/// The axis of that name; it must be there.
const Axis& axis_of(const std::vector<Axis>& axes, std::string_view name);

}  // namespace mmaudit::sweeps
