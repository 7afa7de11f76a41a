#pragma once
// How JSON is written.
#include <nlohmann/json.hpp>
#include <string>

namespace mmaudit::report {

/// Indented, with a last line feed. Names may come from anywhere (a driver, a file): bytes that aren't UTF-8
/// are replaced instead of thrown about.
inline std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace mmaudit::report
