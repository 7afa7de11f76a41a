#pragma once
// JSON from outside: nlohmann's values are copied and printed by recursion, so their depth is bounded first.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mmaudit::corpus {

/// What: the JSON that `text` spells. Errors: nlohmann::json::parse_error where it spells none, InputError
/// "<where>: nesting: found ..., allowed: ..." where brackets stand more than 32 deep, and "<where>: number:
/// ..." for one beyond binary64.
nlohmann::json parse_bounded(std::string_view text, const std::string& where);

}  // namespace mmaudit::corpus
