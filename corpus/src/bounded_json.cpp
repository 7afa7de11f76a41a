#include "mmaudit/corpus/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "mmaudit/error.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::corpus {
namespace {

using Json = nlohmann::json;

/// Refuses what nlohmann would take while it reads.
class Watch {
 public:
  explicit Watch(const std::string& where) : where_(where) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    constexpr int kMostDepth = 32;
    using Event = Json::parse_event_t;
    if (depth > kMostDepth)
      throw InputError(fmt::format("{}: nesting: found more, allowed: {} levels", where_, kMostDepth));
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(value.get<std::string>()).second)
      throw InputError(fmt::format("{}: key: found {} twice in an object, allowed: once", where_,
                                   printable(value.get<std::string>(), 60)));
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> keys_;  ///< of every object that is open
};

}  // namespace

nlohmann::json parse_bounded(std::string_view text, const std::string& where, std::string_view allowed) {
  const auto refuse = [&](std::size_t at) {
    const std::string_view before = text.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    throw InputError(fmt::format("{}{}: found no valid JSON, allowed: {}", where,
                                 line == 1 ? "" : fmt::format(": line {}", line), allowed));
  };
  // To nlohmann's lexer a zero byte is the end of the text.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) refuse(zero);
  try {
    return Json::parse(text, Watch(where));
  } catch (const Json::parse_error& error) {
    refuse(error.byte);
  } catch (const Json::out_of_range&) {  // of all errors the one that is not a parse_error
    throw InputError(fmt::format("{}: number: found one beyond binary64, allowed: finite numbers", where));
  }
  return {};
}

}  // namespace mmaudit::corpus
