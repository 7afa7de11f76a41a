#pragma once
// The fields of a JSON object from outside, each read at most once; what is left over at the end is refused.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/error.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::corpus {

/// How a message names a field, and shows what was found in it.
struct FieldWording {
  std::string_view separator = ": ";  ///< between the object and its field
  bool quoted = false;                ///< text is shown as JSON
};

/// Every reader leaves its argument as it was where the field is missing, and throws InputError
/// "<where><separator><field>: found <found>, allowed: <allowed>" for a value that is not allowed.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& json, std::string where, FieldWording wording = {})
      : json_(json), where_(std::move(where)), wording_(wording) {
    if (!json.is_object()) refuse("", json, "an object");
  }
  void boolean(std::string_view field, bool& value) {
    const nlohmann::json* const found = take(field);
    if (found == nullptr) return;
    if (!found->is_boolean()) refuse(field, *found, "true or false");
    value = found->get<bool>();
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view field, const std::string_view (&names)[Count], Enum& value) {
    const std::optional<std::string> text = this->text(field);
    if (!text) return;
    const auto* const found = std::find(names, names + Count, *text);
    if (found == names + Count) refuse(field, *text, fmt::format("{}", fmt::join(names, ", ")));
    value = static_cast<Enum>(found - names);
  }
  std::optional<std::string> text(std::string_view field) {
    const nlohmann::json* const found = take(field);
    if (found == nullptr) return std::nullopt;
    if (!found->is_string()) refuse(field, *found, "text");
    return found->get<std::string>();
  }
  /// The value of a field, or nullptr.
  const nlohmann::json* take(std::string_view field) {
    known_.emplace_back(field);
    const auto at = json_.find(std::string(field));
    return at == json_.end() ? nullptr : &*at;
  }
  /// For fields that are printed for the reader and mean nothing here.
  void ignore(std::initializer_list<const char*> fields) {
    known_.insert(known_.end(), fields.begin(), fields.end());
  }
  void require(std::initializer_list<const char*> fields) const {
    for (const char* field : fields)
      if (!json_.contains(field))
        throw InputError(fmt::format("{}: found nothing, allowed: this field is required", at(field)));
  }
  void refuse_unknown() const {
    for (const auto& [key, value] : json_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        const std::string near = nearest_word(key, known_);
        refuse("", key, near.empty() ? fmt::format("the fields {}", fmt::join(known_, ", ")) : near + "?");
      }
  }
  [[noreturn]] void refuse(std::string_view field, const nlohmann::json& found,
                           std::string_view allowed) const {
    const bool bare = found.is_string() && !wording_.quoted;
    const std::string shown =
        bare ? found.get<std::string>() : found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    throw InputError(fmt::format("{}: found {}, allowed: {}", at(field), printable(shown, 60), allowed));
  }
  [[nodiscard]] std::string at(std::string_view field) const {
    return field.empty() ? where_ : fmt::format("{}{}{}", where_, wording_.separator, field);
  }

 private:
  const nlohmann::json& json_;
  std::string where_;
  FieldWording wording_;
  std::vector<std::string> known_;
};

}  // namespace mmaudit::corpus
