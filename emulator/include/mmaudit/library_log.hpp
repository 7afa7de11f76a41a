#pragma once
// The log of CUBLASLT_LOG_LEVEL=5, a line of "name=value" and "name=[name=value ...]".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mmaudit {
namespace log {
/// What stands behind "name=", up to a blank or a bracket; in brackets all of it.
std::optional<std::string_view> value_in(std::string_view text, std::string_view name);
std::optional<std::int64_t> number_in(std::string_view text, std::string_view name);
}  // namespace log

/// The attributes in "algo=[algoId=43 ... numSplitsK=-1]", named as LibraryCall's; empty where there are
/// none.
std::vector<std::pair<std::string, std::int64_t>> algorithm_of_log(std::string_view line);

}  // namespace mmaudit
