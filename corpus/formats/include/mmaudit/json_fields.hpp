#pragma once
// JSON from outside, read with the way to every value: the one place that words what its readers refuse.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/json.hpp"

namespace mmaudit {

/// How a message names a value, and shows what was found in it.
struct JsonWording {
  std::string_view separator = ": ";  ///< between an object and its field
  bool quoted = false;                ///< text is shown as JSON
  bool types = false;                 ///< of a value of the wrong type the type is shown
  std::size_t most = 60;              ///< bytes of what was found
  std::string_view missing = "nothing";
};

/// A value, or that there is none, and the way to it. Errors: InputError
/// "<where>: found <found>, allowed: <allowed>".
class JsonNode {
 public:
  JsonNode(const Json& json, std::string where, JsonWording wording = {})
      : JsonNode(&json, std::move(where), wording) {}

  [[nodiscard]] bool given() const { return json_ != nullptr; }
  [[nodiscard]] const Json& json() const { return *json_; }
  [[nodiscard]] const std::string& where() const { return where_; }

  /// The member of an object; one that is not given where there is no such member, or no object.
  [[nodiscard]] JsonNode operator[](std::string_view name) const;
  /// The same. Refused where it is not given.
  [[nodiscard]] JsonNode at(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view allowed = "text") const;
  /// From `least` to `most`, which the refusal says unless it is given other words.
  [[nodiscard]] int number(int least, int most, std::string_view allowed = {}) const;
  [[nodiscard]] std::uint64_t count(std::uint64_t most) const;
  /// Of a hexadecimal number after 0x.
  [[nodiscard]] std::uint64_t hex() const;
  /// The elements of a list, "<where>[0]", ...
  [[nodiscard]] std::vector<JsonNode> list(std::string_view allowed = "a list") const;
  /// The members of an object that are integers of 64 bits with a sign.
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> integers() const;

  /// Refuses any other text, as of a schema.
  void expect(std::string_view allowed) const;
  [[noreturn]] void refuse(std::string_view allowed) const;
  [[noreturn]] void refuse(const Json& found, std::string_view allowed) const;
  [[noreturn]] void refuse_type(std::string_view allowed) const;

 protected:
  JsonNode(const Json* json, std::string where, JsonWording wording)
      : json_(json), where_(std::move(where)), wording_(wording) {}
  [[nodiscard]] std::string way_to(std::string_view field) const;

  const Json* json_;
  std::string where_;
  JsonWording wording_;
};

/// The fields of an object, each read at most once; what is left over at the end is refused. Every reader
/// leaves its argument as it was where the field is missing.
class JsonFields : public JsonNode {
 public:
  JsonFields(const Json& json, std::string where, JsonWording wording = {});

  /// The value of a field, or nullptr.
  const Json* take(std::string_view field);
  std::optional<std::string> text(std::string_view field);
  void text(std::string_view field, std::string& value);
  void texts(std::string_view field, std::vector<std::string>& values);
  void boolean(std::string_view field, bool& value);
  void count(std::string_view field, std::uint64_t& value, std::uint64_t least = 0);
  template <typename Number>
  void number(std::string_view field, Number& value) {
    const Json* const found = take(field);
    if (found == nullptr) return;
    if (!found->is_number()) refuse(field, *found, "a number");
    value = found->get<Number>();
  }
  /// An integer of [low, high].
  template <typename T>
  void integer(std::string_view field, T& value, int low, int high) {
    if (const std::optional<int> found = whole(field, low, high)) value = static_cast<T>(*found);
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view field, const std::string_view (&names)[Count], Enum& value) {
    const std::optional<std::string> text = this->text(field);
    if (!text) return;
    const auto* const found = std::find(names, names + Count, *text);
    if (found == names + Count) refuse(field, *text, joined({names, names + Count}));
    value = static_cast<Enum>(found - names);
  }

  /// For fields that are printed for the reader and mean nothing here.
  void ignore(std::initializer_list<const char*> fields) {
    known_.insert(known_.end(), fields.begin(), fields.end());
  }
  void require(std::initializer_list<const char*> fields) const;
  void refuse_unknown() const;
  [[noreturn]] void refuse(std::string_view field, const Json& found, std::string_view allowed) const;
  [[nodiscard]] std::string at(std::string_view field) const { return way_to(field); }

 private:
  static std::string joined(const std::vector<std::string_view>& names);
  std::optional<int> whole(std::string_view field, int low, int high);

  std::vector<std::string> known_;
};

}  // namespace mmaudit
