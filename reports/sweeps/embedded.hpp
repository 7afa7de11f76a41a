#pragma once
// Tables that come with the program, as text.
#include <string_view>
#include <vector>

namespace mmaudit::sweeps {

/// reports/sweeps/census.csv, as census_csv() prints it.
std::string_view shipped_census();
/// Every file corpus/published/*_speed.csv.
std::vector<std::string_view> published_files();

}  // namespace mmaudit::sweeps
