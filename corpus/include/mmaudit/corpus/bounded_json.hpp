#pragma once
// JSON from outside: nlohmann's values are copied and printed by recursion, so their depth is bounded first.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mmaudit::corpus {

/// What: the JSON that all of `text` spells. Errors: InputError of one line: "<where>: found no valid JSON,
/// allowed: <allowed>", with the line where there are several; "<where>: nesting: ..." where brackets stand
/// more than 32 deep, "<where>: key: ..." where an object has one twice, and "<where>: number: ..." for one
/// beyond binary64.
nlohmann::json parse_bounded(std::string_view text, const std::string& where, std::string_view allowed);

}  // namespace mmaudit::corpus
