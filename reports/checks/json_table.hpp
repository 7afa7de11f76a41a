#pragma once
// A table of rows that are JSON objects: what a document holds and what a person reads is said once.
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/json.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::checks {

struct MemberColumn {
  std::string_view key;
  report::Column column;
};

/// A row per member of an object of texts.
report::Table facts_table(std::string title, const Json& facts);
/// Text as it is, numbers in their shortest form, null as "-".
report::Table table_of(std::string title, const Json& rows, const std::vector<MemberColumn>& columns);

}  // namespace mmaudit::checks
