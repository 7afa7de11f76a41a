#pragma once
// A JSON value: what readers are given and writers hand over. The library that reads and prints the text is
// seen by json.cpp and json_parse.cpp alone, since its header takes seconds to compile.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mmaudit {

/// A value is missing or of another type. Readers of files make an InputError of it.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of an object. A template, so that it is complete where Json is.
template <typename Value>
struct JsonMember {
  std::string key;
  Value value;
  bool operator==(const JsonMember&) const = default;
};

/// What: null, a boolean, a number (whole ones exactly, in 64 bits), text, a list or an object, whose members
/// keep the order in which they were added. Braces make an object of pairs whose first is text, and a list of
/// anything else. Made of booleans, numbers, texts, optional values, ranges of these, and of whatever has
/// to_json(Json&, const T&).
class Json {
 public:
  class Part;
  using Member = JsonMember<Json>;
  using List = std::vector<Json>;
  using Members = std::vector<Member>;

  Json() = default;
  Json(std::initializer_list<Part> parts);  // NOLINT(google-explicit-constructor): nor the next
  template <typename T>
  requires(!std::same_as<std::remove_cvref_t<T>, Json> && !std::same_as<std::remove_cvref_t<T>, Part>)
      Json(T&& from) {  // NOLINT(bugprone-forwarding-reference-overload)
    set(std::forward<T>(from));
  }
  static Json array(std::initializer_list<Part> parts = {});
  static Json object();

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_number_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
  [[nodiscard]] bool is_number_integer() const {
    return is_number_unsigned() || std::holds_alternative<std::int64_t>(value_);
  }
  [[nodiscard]] bool is_number() const {
    return is_number_integer() || std::holds_alternative<double>(value_);
  }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<List>(value_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Members>(value_); }
  /// "null", "boolean", "number", "string", "array", "object".
  [[nodiscard]] const char* type_name() const;

  /// The value as bool, a number, std::string or a std::vector of these. Errors: JsonError where it is of
  /// another type, or a binary64 that the integer T does not reach; else numbers are converted as by
  /// static_cast.
  template <typename T>
  [[nodiscard]] T get() const {
    if constexpr (std::is_same_v<T, bool>) {
      return alternative<bool>();
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (const auto* const whole = std::get_if<std::uint64_t>(&value_)) return static_cast<T>(*whole);
      if (const auto* const negative = std::get_if<std::int64_t>(&value_)) return static_cast<T>(*negative);
      const double number = alternative<double>();
      if constexpr (std::is_integral_v<T>) {
        constexpr double kEnd =
            2.0 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<T>::digits - 1));
        if (!(number >= static_cast<double>(std::numeric_limits<T>::min()) && number < kEnd)) refuse_type();
      }
      return static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return alternative<std::string>();
    } else {
      T out;
      for (const Json& each : alternative<List>()) out.push_back(each.get<typename T::value_type>());
      return out;
    }
  }
  template <typename T>
  void get_to(T& to) const {
    to = get<T>();
  }

  // Members. Errors: JsonError where this is no object or has no such member.
  [[nodiscard]] const Json* find(std::string_view key) const;  ///< nullptr: not there, or no object
  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] Json& at(std::string_view key) { return const_cast<Json&>(std::as_const(*this).at(key)); }
  Json& operator[](std::string_view key);  ///< added, as null, where it is not there
  const Json& operator[](std::string_view key) const { return at(key); }
  [[nodiscard]] const Members& items() const { return alternative<Members>(); }
  void erase(std::string_view key);
  /// Adds the members of `other`, or sets those that are there.
  void update(const Json& other);

  // Elements of a list; null is an empty one.
  [[nodiscard]] std::size_t size() const;  ///< also of an object
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const Json& at(std::size_t index) const;
  [[nodiscard]] Json& at(std::size_t index) { return const_cast<Json&>(std::as_const(*this).at(index)); }
  const Json& operator[](std::size_t index) const { return at(index); }
  Json& operator[](std::size_t index) { return at(index); }
  [[nodiscard]] const Json& front() const { return at(std::size_t{0}); }
  [[nodiscard]] Json& front() { return at(std::size_t{0}); }
  [[nodiscard]] Json& back() { return at(size() - 1); }
  [[nodiscard]] const Json* begin() const { return list().data(); }
  [[nodiscard]] const Json* end() const { return list().data() + list().size(); }
  [[nodiscard]] Json* begin() { return const_cast<Json*>(std::as_const(*this).begin()); }
  [[nodiscard]] Json* end() { return const_cast<Json*>(std::as_const(*this).end()); }
  void push_back(Json one);

  /// The same with the members of all its objects in the order of their keys.
  [[nodiscard]] Json sorted() const;
  /// The text on one line without spaces, or, from indent = 0 on, a line per element. Bytes that aren't UTF-8
  /// are replaced: names may come from anywhere (a driver, a file).
  [[nodiscard]] std::string dump(int indent = -1) const;
  /// dump() in ASCII: may be cut anywhere.
  [[nodiscard]] std::string ascii() const;

  /// Numbers by value, objects whatever the order of their members.
  friend bool operator==(const Json& a, const Json& b) { return a.equals(b); }

 private:
  template <typename T>
  void set(T&& from) {
    using Value = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<Value, std::nullptr_t>) {
      value_ = {};
    } else if constexpr (std::is_same_v<Value, bool>) {
      value_ = from;
    } else if constexpr (std::is_integral_v<Value>) {
      if (std::cmp_less(from, 0))
        value_ = static_cast<std::int64_t>(from);
      else
        value_ = static_cast<std::uint64_t>(from);
    } else if constexpr (std::is_floating_point_v<Value>) {
      value_ = static_cast<double>(from);
    } else if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, List> ||
                         std::is_same_v<Value, Members>) {
      value_ = std::forward<T>(from);
    } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      value_ = std::string(std::string_view(from));
    } else if constexpr (requires { from.has_value(); }) {
      if (from.has_value()) set(*from);
    } else if constexpr (requires { to_json(*this, from); }) {
      to_json(*this, from);
    } else {
      List list;
      for (const auto& each : from) list.emplace_back(each);
      value_ = std::move(list);
    }
  }
  template <typename T>
  [[nodiscard]] const T& alternative() const {
    if (const T* const found = std::get_if<T>(&value_)) return *found;
    refuse_type();
  }
  [[noreturn]] void refuse_type() const;
  [[nodiscard]] const List& list() const;
  [[nodiscard]] bool equals(const Json& other) const;
  void write(std::string& out, int indent, int depth, bool ascii) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, List, Members> value_;
};

/// What stands in braces: moved into the value that they make.
class Json::Part {
 public:
  Part(std::initializer_list<Part> parts)
      : value_(parts) {}  // NOLINT(google-explicit-constructor): nor the next
  // NOLINTBEGIN(bugprone-forwarding-reference-overload): it is none for a Part
  template <typename T>
  requires(!std::same_as<std::remove_cvref_t<T>, Part>) Part(T&& from) : value_(std::forward<T>(from)) {}
  // NOLINTEND(bugprone-forwarding-reference-overload)

 private:
  friend Json;
  mutable Json value_;
};

/// A document as most commands print it: members in the order of their keys, indented, with a last line feed.
std::string document(const Json& json, int indent = 2);
/// The same with the members in the order in which they were added.
std::string ordered_document(const Json& json, int indent = 2);

/// Of text that this program wrote: members keep their order. Errors: InputError.
Json parse_json(std::string_view text);
/// Whether it is JSON, of any depth.
bool is_json(std::string_view text);
bool is_utf8(std::string_view text);
/// "3.11.2", of the library that reads the text.
std::string json_library_version();

namespace corpus {

/// What: the JSON that all of `text`, which comes from outside, spells; members in the order of their keys.
/// Errors: InputError of one line: "<where>: found no valid JSON, allowed: <allowed>", with the line where
/// there are several;
/// "<where>: nesting: ..." where brackets stand more than 32 deep, "<where>: key: ..." where an object has
/// one twice, and "<where>: number: ..." for one beyond binary64.
Json parse_bounded(std::string_view text, const std::string& where, std::string_view allowed);

}  // namespace corpus
}  // namespace mmaudit
