#include "mmaudit/corpus/bounded_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mmaudit/error.hpp"

namespace mmaudit::corpus {

nlohmann::json parse_bounded(std::string_view text, const std::string& where) {
  using Json = nlohmann::json;
  constexpr int kMostDepth = 32;
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t, const Json&) {
      if (depth > kMostDepth)
        throw InputError(fmt::format("{}: nesting: found more, allowed: {} levels", where, kMostDepth));
      return true;
    });
  } catch (const Json::out_of_range&) {  // of all errors the one that is not a parse_error
    throw InputError(fmt::format("{}: number: found one beyond binary64, allowed: finite numbers", where));
  }
}

}  // namespace mmaudit::corpus
