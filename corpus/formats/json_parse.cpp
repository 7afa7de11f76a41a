#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit {
namespace {

/// Makes a Json of what the library reads, and refuses what the library would take.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, std::string where, std::string_view allowed, bool sorted)
      : text_(text), where_(std::move(where)), allowed_(allowed), sorted_(sorted) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return open(true); }
  bool start_array(std::size_t /*elements*/) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    refuse_depth();
    if (!open_.back().keys.insert(value).second)
      throw InputError(
          fmt::format("{}: key: found {} twice in an object, allowed: once", where_, printable(value, 60)));
    open_.back().members.push_back({std::move(value), {}});
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const nlohmann::detail::parse_error*>(&error) != nullptr) refuse(position);
    // of all errors the one that is not a parse_error
    throw InputError(fmt::format("{}: number: found one beyond binary64, allowed: finite numbers", where_));
  }

  [[noreturn]] void refuse(std::size_t at) const {
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    throw InputError(fmt::format("{}{}: found no valid JSON, allowed: {}", where_,
                                 line == 1 ? "" : fmt::format(": line {}", line), allowed_));
  }

  /// Reads the text.
  Json operator()() {
    // To the library's lexer a zero byte is the end of the text.
    if (const std::size_t zero = text_.find('\0'); zero != std::string_view::npos) refuse(zero);
    nlohmann::json::sax_parse(text_, this);
    return std::move(whole_);
  }

 private:
  /// A list or an object whose end has not come.
  struct Open {
    bool is_object;
    Json::List list;
    Json::Members members;
    std::set<std::string> keys;
  };

  void refuse_depth() const {
    constexpr std::size_t kMostDepth = 32;
    const std::size_t depth = open_.size();
    if (depth > kMostDepth)
      throw InputError(fmt::format("{}: nesting: found more, allowed: {} levels", where_, kMostDepth));
  }
  bool add(Json value) {
    refuse_depth();
    put(std::move(value));
    return true;
  }
  bool open(bool is_object) {
    refuse_depth();
    open_.push_back({is_object, {}, {}, {}});
    return true;
  }
  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (sorted_)
      std::sort(done.members.begin(), done.members.end(),
                [](const Json::Member& a, const Json::Member& b) { return a.key < b.key; });
    put(done.is_object ? Json(std::move(done.members)) : Json(std::move(done.list)));
    return true;
  }
  void put(Json value) {
    if (open_.empty())
      whole_ = std::move(value);
    else if (open_.back().is_object)
      open_.back().members.back().value = std::move(value);
    else
      open_.back().list.push_back(std::move(value));
  }

  std::string_view text_;
  std::string where_;
  std::string_view allowed_;
  bool sorted_;  ///< members come in the order of their keys
  Json whole_;
  std::vector<Open> open_;
};

}  // namespace

Json parse_json(std::string_view text) { return Builder(text, "JSON", "JSON", false)(); }

bool is_json(std::string_view text) { return nlohmann::json::accept(text); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_of_utf8(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string json_library_version() {
  return fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH);
}

namespace corpus {

Json parse_bounded(std::string_view text, const std::string& where, std::string_view allowed) {
  return Builder(text, where, allowed, true)();
}

}  // namespace corpus
}  // namespace mmaudit
