#include "published.hpp"

#include <algorithm>
#include <vector>

#include "published_errors.hpp"

namespace mmaudit::report {
namespace {

/// The fields of a line of CSV.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

std::optional<PublishedError> published_error(const ProfileCell& cell) {
  const std::vector<std::string> wanted = {
      std::string(name_of(cell.dtype)), std::string(name_of(cell.output)),
      std::string(name_of(cell.operation)), std::string(name_of(cell.init)),
      std::string(name_of(cell.reference))};
  for (std::string_view text = kSun2023Errors; !text.empty();) {
    const std::size_t end = text.find('\n');
    const std::vector<std::string> fields = fields_of(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (fields.size() == wanted.size() + 2 && std::equal(wanted.begin(), wanted.end(), fields.begin() + 1))
      return PublishedError{"Sun et al. 2023, Table " + fields.front(), fields.back()};
  }
  return std::nullopt;
}

}  // namespace mmaudit::report
