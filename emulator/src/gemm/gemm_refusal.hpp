#pragma once
// What is said of a field of a problem or a plan.
#include <string>

namespace mmaudit {

inline std::string refusal(const char* field, const std::string& found, const std::string& allowed) {
  return std::string(field) + ": found " + found + ", allowed: " + allowed;
}

}  // namespace mmaudit
