#pragma once
// What every JSON file of this module begins and ends with.
#include <nlohmann/json.hpp>
#include <string>

#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

nlohmann::ordered_json json_of(const Provenance& from);

/// Indented, with a last line feed. Names may come from anywhere (a driver, a file): bytes that aren't UTF-8
/// are replaced, not thrown about.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace mmaudit::report
