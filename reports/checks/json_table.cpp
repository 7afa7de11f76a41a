#include "json_table.hpp"

#include <fmt/format.h>

namespace mmaudit::checks {

report::Table facts_table(std::string title, const Json& facts) {
  report::Table out{.title = std::move(title), .columns = {"what", "value"}};
  for (const auto& [what, value] : facts.items()) out.rows.push_back({what, value.get<std::string>()});
  return out;
}

report::Table table_of(std::string title, const Json& rows, const std::vector<MemberColumn>& columns) {
  report::Table out{.title = std::move(title)};
  for (const MemberColumn& one : columns) out.columns.push_back(one.column);
  for (const Json& row : rows) {
    auto& cells = out.rows.emplace_back();
    for (const MemberColumn& one : columns) {
      const Json& value = row.at(one.key);
      const bool fraction = value.is_number() && !value.is_number_integer();
      cells.emplace_back(value.is_null()     ? "-"
                         : value.is_string() ? value.get<std::string>()
                         : fraction          ? fmt::format("{}", value.get<double>())
                                             : value.dump());
    }
  }
  return out;
}

}  // namespace mmaudit::checks
