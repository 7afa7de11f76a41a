#include "budget.hpp"

#include "mmaudit/error.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::cli {

double seconds_of(const std::string& option, const std::string& text) {
  const std::string_view units = "smh";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const auto number =
      whole_number<std::uint64_t>(text.substr(0, text.size() - (unit == std::string_view::npos ? 0 : 1)));
  if (!number || *number == 0) refuse("{}: found {}, allowed: a time, 60s, 10m, 2h", option, text);
  constexpr double kUnits[] = {1, 60, 3600};
  return static_cast<double>(*number) * (unit == std::string_view::npos ? 1 : kUnits[unit]);
}

}  // namespace mmaudit::cli
