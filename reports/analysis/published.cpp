#include "published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mmaudit/csv.hpp"
#include "published_errors.hpp"

namespace mmaudit::report {
std::optional<PublishedError> published_error(const ProfileCell& cell) {
  const std::vector<std::string> wanted = {
      std::string(name_of(cell.dtype)), std::string(name_of(cell.output)),
      std::string(name_of(cell.operation)), std::string(name_of(cell.init)),
      std::string(name_of(cell.reference))};
  for (const std::vector<std::string_view>& fields : csv::rows_of(kSun2023Errors, ""))
    if (fields.size() == wanted.size() + 2 && std::equal(wanted.begin(), wanted.end(), fields.begin() + 1))
      return PublishedError{fmt::format("Sun et al. 2023, Table {}", fields.front()),
                            std::string(fields.back())};
  return std::nullopt;
}

}  // namespace mmaudit::report
