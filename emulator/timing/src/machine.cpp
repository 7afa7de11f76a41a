#include "mmaudit/timing/machine.hpp"

#include <algorithm>
#include <cctype>

#include "timing_machine_includes.hpp"

namespace mmaudit::timing {
namespace {

constexpr ParameterText kTexts[] = {
#define MMAUDIT_TEXT(ENUMERATOR, NAME, UNIT, MEANING) {NAME, UNIT, MEANING},
    MMAUDIT_TIMING_PARAMETERS(MMAUDIT_TEXT)
#undef MMAUDIT_TEXT
};

constexpr Machine kListed[] = {
#include "timing_machine_list.hpp"
};

bool same_name(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

const std::array<Machine, std::size(kListed)>& sorted() {
  static const auto by_name = [] {
    std::array<Machine, std::size(kListed)> all;
    std::copy(std::begin(kListed), std::end(kListed), all.begin());
    std::stable_sort(all.begin(), all.end(), [](const Machine& x, const Machine& y) {
      return x.architecture().compute_capability < y.architecture().compute_capability;
    });
    return all;
  }();
  return by_name;
}

}  // namespace

std::span<const ParameterText> parameter_texts() { return kTexts; }

std::optional<Parameter> find_parameter(std::string_view name) {
  for (std::size_t i = 0; i < kParameters; ++i)
    if (kTexts[i].name == name) return static_cast<Parameter>(i);
  return std::nullopt;
}

std::string_view name_of(Known known) {
  constexpr std::string_view kNames[] = {"measured", "published", "compiler", "fitted"};
  return kNames[static_cast<std::size_t>(known)];
}

std::vector<std::string_view> Machine::names() const {
  std::vector<std::string_view> all{name};
  all.insert(all.end(), aliases.begin(), aliases.end());
  if (!stands_for_generation) return all;
  all.push_back(generation);
  const std::string own = "sm_" + std::to_string(architecture().compute_capability);
  for (const std::string_view alias : architecture().aliases)
    if (alias.starts_with(own)) all.push_back(alias);
  return all;
}

double Machine::operator[](Parameter parameter) const {
  if (is_overridden[static_cast<std::size_t>(parameter)])
    return overridden[static_cast<std::size_t>(parameter)];
  for (const Number& number : numbers)
    if (number.parameter == parameter) return number.value;
  return 0;
}

std::span<const Machine> machines() { return sorted(); }

const Machine* find_machine(std::string_view name) {
  for (const Machine& machine : sorted()) {
    const std::vector<std::string_view> names = machine.names();
    if (std::any_of(names.begin(), names.end(),
                    [name](std::string_view one) { return same_name(name, one); }))
      return &machine;
  }
  return nullptr;
}

}  // namespace mmaudit::timing
