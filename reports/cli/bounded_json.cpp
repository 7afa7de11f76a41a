#include "bounded_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mmaudit/error.hpp"

namespace mmaudit::cli {

nlohmann::json parse_bounded(std::string_view text, const std::string& where) {
  using Json = nlohmann::json;
  constexpr int kMostDepth = 32;
  return Json::parse(text, [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kMostDepth)
      throw InputError(fmt::format("{}: nesting: found more, allowed: {} levels", where, kMostDepth));
    return true;
  });
}

}  // namespace mmaudit::cli
