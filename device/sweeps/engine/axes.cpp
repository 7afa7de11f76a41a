#include "mmaudit/sweeps/axes.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr int kMostValues = 1024;

[[noreturn]] void refuse_value(const AxisSpec& spec, std::string_view found) {
  refuse("--axis {}: found \"{}\", allowed: {}, as one value, [a,b,c] or [start:end:step]", spec.name, found,
         allowed_values(spec));
}

/// "a,b,c", or with `range` start:end or start:end:step, the end included.
std::vector<int> numbers_of(const AxisSpec& spec, std::string_view text, bool range) {
  std::vector<int> numbers;
  for (const std::string_view part : split(text, range ? ':' : ',')) {
    const std::optional<int> number = whole_number<int>(part);
    if (!number) refuse_value(spec, range ? text : part);
    numbers.push_back(*number);
  }
  if (!range) return numbers;
  if (numbers.size() == 2) numbers.push_back(1);
  if (numbers.size() != 3 || numbers[2] < 1 || numbers[1] < numbers[0]) refuse_value(spec, text);
  std::vector<int> values;
  for (std::int64_t value = numbers[0]; value <= numbers[1]; value += numbers[2]) {
    if (values.size() == kMostValues) refuse_value(spec, text);
    values.push_back(static_cast<int>(value));
  }
  return values;
}

std::vector<std::string> values_of(const AxisSpec& spec, std::string_view text, bool powers) {
  constexpr int kMostPower = 30;
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (!list && text.find_first_of("[]") != std::string_view::npos) refuse_value(spec, text);
  const std::string_view inside = list ? text.substr(1, text.size() - 2) : text;
  std::vector<std::string> values;
  if (!spec.number) {
    for (const std::string_view word : split(inside, ',')) values.emplace_back(word);
    return values;
  }
  for (const int number : numbers_of(spec, inside, list && inside.find(':') != std::string_view::npos)) {
    if (powers && (number < 0 || number > kMostPower)) refuse_value(spec, text);
    values.push_back(std::to_string(powers ? 1 << number : number));
  }
  return values;
}

/// Two benchmarks may have other words of one name.
bool a_benchmark_allows(std::string_view name, std::string_view value) {
  const std::vector<Benchmark>& all = benchmarks();
  return std::any_of(all.begin(), all.end(), [&](const Benchmark& one) {
    const AxisSpec* const spec = find_named(one.axes, name);
    return spec != nullptr && allows(*spec, value);
  });
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
    const std::optional<int> number = whole_number<int>(value);
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
      if (find_named(specs, spec.name) == nullptr) specs.push_back(spec);
  return specs;
}

Axis parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  constexpr std::string_view kPowers = "[pow2]";
  const bool powers = name.ends_with(kPowers);
  if (powers) name.remove_suffix(kPowers.size());
  const std::vector<AxisSpec> specs = axis_specs();
  const AxisSpec* const spec = find_named(specs, name);
  if (spec == nullptr || equals == std::string_view::npos)
    refuse("--axis: found \"{}\", allowed: NAME=VALUES with one of {}", text, names_of(specs));
  if (powers && !spec->number) refuse_value(*spec, text);
  Axis axis{std::string(name), {}};
  for (const std::string& value : values_of(*spec, text.substr(equals + 1), powers)) {
    if (!allows(*spec, value) && !a_benchmark_allows(name, value)) refuse_value(*spec, value);
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
    *find_named(axes, axis.name) = axis;
  }
  return axes;
}

const Axis& axis_of(const std::vector<Axis>& axes, std::string_view name) {
  if (const Axis* const axis = find_named(axes, name)) return *axis;
  throw std::logic_error("no axis " + std::string(name));
}

}  // namespace mmaudit::sweeps
