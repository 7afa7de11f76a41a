#include "mmaudit/sweeps/axes.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "mmaudit/error.hpp"
#include "mmaudit/sweeps/benchmark.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr int kMostValues = 1024;

std::optional<int> number_of(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(const AxisSpec& spec, std::string_view found) {
  throw InputError("--axis " + std::string(spec.name) + ": found \"" + std::string(found) +
                   "\", allowed: " + allowed_values(spec) + ", as one value, [a,b,c] or [start:end:step]");
}

/// "a,b,c", or with `range` start:end or start:end:step, the end included.
std::vector<int> numbers_of(const AxisSpec& spec, std::string_view text, bool range) {
  std::vector<int> numbers;
  for (const std::string_view part : split(text, range ? ':' : ',')) {
    const std::optional<int> number = number_of(part);
    if (!number) refuse(spec, range ? text : part);
    numbers.push_back(*number);
  }
  if (!range) return numbers;
  if (numbers.size() == 2) numbers.push_back(1);
  if (numbers.size() != 3 || numbers[2] < 1 || numbers[1] < numbers[0]) refuse(spec, text);
  std::vector<int> values;
  for (std::int64_t value = numbers[0]; value <= numbers[1]; value += numbers[2]) {
    if (values.size() == kMostValues) refuse(spec, text);
    values.push_back(static_cast<int>(value));
  }
  return values;
}

std::vector<std::string> values_of(const AxisSpec& spec, std::string_view text, bool powers) {
  constexpr int kMostPower = 30;
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (!list && text.find_first_of("[]") != std::string_view::npos) refuse(spec, text);
  const std::string_view inside = list ? text.substr(1, text.size() - 2) : text;
  std::vector<std::string> values;
  if (!spec.number) {
    for (const std::string_view word : split(inside, ',')) values.emplace_back(word);
    return values;
  }
  for (const int number : numbers_of(spec, inside, list && inside.find(':') != std::string_view::npos)) {
    if (powers && (number < 0 || number > kMostPower)) refuse(spec, text);
    values.push_back(std::to_string(powers ? 1 << number : number));
  }
  return values;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool allows(const AxisSpec& spec, std::string_view value) {
  if (spec.number) {
    const std::optional<int> number = number_of(value);
    if (!number || *number < spec.least || *number > spec.most || std::to_string(*number) != value)
      return false;
  }
  const std::vector<std::string_view> words = split(spec.words, ',');
  return spec.words.empty() || std::find(words.begin(), words.end(), value) != words.end();
}

std::string allowed_values(const AxisSpec& spec) {
  return spec.words.empty() ? std::to_string(spec.least) + " to " + std::to_string(spec.most)
                            : std::string(spec.words);
}

std::vector<AxisSpec> axis_specs() {
  std::vector<AxisSpec> specs = {kScopeAxis, kInitAxis, kWarpsAxis, kIlpAxis};
  for (const Benchmark& benchmark : benchmarks())
    for (const AxisSpec& spec : benchmark.axes)
      if (std::none_of(specs.begin(), specs.end(),
                       [&](const AxisSpec& one) { return one.name == spec.name; }))
        specs.push_back(spec);
  return specs;
}

Axis parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  constexpr std::string_view kPowers = "[pow2]";
  const bool powers = name.ends_with(kPowers);
  if (powers) name.remove_suffix(kPowers.size());
  const std::vector<AxisSpec> specs = axis_specs();
  const auto spec =
      std::find_if(specs.begin(), specs.end(), [&](const AxisSpec& one) { return one.name == name; });
  if (spec == specs.end() || equals == std::string_view::npos) {
    std::string allowed;
    for (const AxisSpec& one : specs) allowed += (allowed.empty() ? "" : ", ") + std::string(one.name);
    throw InputError("--axis: found \"" + std::string(text) + "\", allowed: NAME=VALUES with one of " +
                     allowed);
  }
  if (powers && !spec->number) refuse(*spec, text);
  Axis axis{std::string(name), {}};
  for (const std::string& value : values_of(*spec, text.substr(equals + 1), powers)) {
    if (!allows(*spec, value)) refuse(*spec, value);
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      axis.values.push_back(value);
  }
  return axis;
}

std::vector<Axis> resolve_axes(const std::vector<std::string>& given, bool quick) {
  std::vector<Axis> axes;
  for (const AxisSpec& spec : axis_specs())
    axes.push_back(parse_axis(std::string(spec.name) + "=" + std::string(quick ? spec.quick : spec.usual)));
  for (const std::string& text : given) {
    Axis axis = parse_axis(text);
    *std::find_if(axes.begin(), axes.end(), [&](const Axis& one) { return one.name == axis.name; }) = axis;
  }
  return axes;
}

const Axis& axis_of(const std::vector<Axis>& axes, std::string_view name) {
  for (const Axis& axis : axes)
    if (axis.name == name) return axis;
  throw std::logic_error("no axis " + std::string(name));
}

}  // namespace mmaudit::sweeps
