#include "mmaudit/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mmaudit {
namespace {

using Library = nlohmann::json;

/// Text and numbers of binary64 as the library prints them.
std::string leaf(const Library& value, bool ascii) {
  return value.dump(-1, ' ', ascii, Library::error_handler_t::replace);
}

void write_text(std::string& out, const std::string& text, bool ascii) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  if (plain)
    out.append(1, '"').append(text).append(1, '"');
  else
    out += leaf(text, ascii);
}

const Json::Member* find_in(const Json::Members& members, std::string_view key) {
  const auto at =
      std::find_if(members.begin(), members.end(), [&](const Json::Member& one) { return one.key == key; });
  return at == members.end() ? nullptr : &*at;
}

}  // namespace

Json::Json(std::initializer_list<Part> parts) {
  const bool pairs = std::all_of(parts.begin(), parts.end(), [](const Part& one) {
    return one.value_.is_array() && one.value_.size() == 2 && one.value_.front().is_string();
  });
  if (!pairs) {
    *this = array(parts);
    return;
  }
  Members& members = value_.emplace<Members>();
  for (const Part& one : parts) {
    List& pair = std::get<List>(one.value_.value_);
    std::string& key = std::get<std::string>(pair[0].value_);
    if (find_in(members, key) == nullptr) members.push_back({std::move(key), std::move(pair[1])});
  }
}

Json Json::array(std::initializer_list<Part> parts) {
  Json out;
  List& list = out.value_.emplace<List>();
  list.reserve(parts.size());
  for (const Part& one : parts) list.push_back(std::move(one.value_));
  return out;
}

Json Json::object() {
  Json out;
  out.value_.emplace<Members>();
  return out;
}

const char* Json::type_name() const {
  return is_null()      ? "null"
         : is_boolean() ? "boolean"
         : is_number()  ? "number"
         : is_string()  ? "string"
         : is_array()   ? "array"
                        : "object";
}

void Json::refuse_type() const { throw JsonError(std::string("JSON: found ") + type_name()); }

const Json* Json::find(std::string_view key) const {
  const Members* const members = std::get_if<Members>(&value_);
  const Member* const found = members == nullptr ? nullptr : find_in(*members, key);
  return found == nullptr ? nullptr : &found->value;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* const found = find(key)) return *found;
  throw JsonError("JSON: found no " + std::string(key));
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_.emplace<Members>();
  if (const Member* const found = find_in(items(), key)) return const_cast<Member*>(found)->value;
  return std::get<Members>(value_).emplace_back(Member{std::string(key), {}}).value;
}

void Json::erase(std::string_view key) {
  static_cast<void>(items());
  std::erase_if(std::get<Members>(value_), [&](const Member& one) { return one.key == key; });
}

void Json::update(const Json& other) {
  for (const Member& one : other.items()) (*this)[one.key] = one.value;
}

std::size_t Json::size() const {
  if (const Members* const members = std::get_if<Members>(&value_)) return members->size();
  return is_null() || is_array() ? list().size() : 1;
}

const Json& Json::at(std::size_t index) const {
  if (index >= list().size()) throw JsonError("JSON: found a shorter list");
  return list()[index];
}

const Json::List& Json::list() const {
  static const List none;
  return is_null() ? none : alternative<List>();
}

void Json::push_back(Json one) {
  if (is_null()) value_.emplace<List>();
  static_cast<void>(alternative<List>());
  std::get<List>(value_).push_back(std::move(one));
}

Json Json::sorted() const {
  if (is_array()) {
    List list;
    for (const Json& each : *this) list.push_back(each.sorted());
    return list;
  }
  if (!is_object()) return *this;
  Members members;
  for (const auto& [key, value] : items()) members.push_back({key, value.sorted()});
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.key < b.key; });
  return members;
}

bool Json::equals(const Json& other) const {
  if (is_number() && other.is_number() && value_.index() != other.value_.index())
    return get<double>() == other.get<double>();
  if (!is_object() || !other.is_object()) return value_ == other.value_;
  return size() == other.size() && std::all_of(items().begin(), items().end(), [&](const Member& one) {
           const Json* const found = other.find(one.key);
           return found != nullptr && *found == one.value;
         });
}

void Json::write(std::string& out, int indent, int depth, bool ascii) const {
  const auto elements = [&](char open, const auto& all, char close, const auto& write_one) {
    out += open;
    const auto new_line = [&](int levels) {
      if (indent >= 0)
        out.append(1, '\n').append(static_cast<std::size_t>(levels) * static_cast<std::size_t>(indent), ' ');
    };
    for (const auto& one : all) {
      if (&one != &all.front()) out += ',';
      new_line(depth + 1);
      write_one(one);
    }
    if (!all.empty()) new_line(depth);
    out += close;
  };
  if (const List* const list = std::get_if<List>(&value_)) {
    elements('[', *list, ']', [&](const Json& one) { one.write(out, indent, depth + 1, ascii); });
  } else if (const Members* const members = std::get_if<Members>(&value_)) {
    elements('{', *members, '}', [&](const Member& one) {
      write_text(out, one.key, ascii);
      out += indent >= 0 ? ": " : ":";
      one.value.write(out, indent, depth + 1, ascii);
    });
  } else if (const auto* const text = std::get_if<std::string>(&value_)) {
    write_text(out, *text, ascii);
  } else if (is_null()) {
    out += "null";
  } else if (const auto* const flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (is_number_unsigned()) {
    out += std::to_string(get<std::uint64_t>());
  } else if (is_number_integer()) {
    out += std::to_string(get<std::int64_t>());
  } else {
    out += leaf(get<double>(), ascii);
  }
}

std::string Json::dump(int indent) const {
  std::string out;
  write(out, indent, 0, false);
  return out;
}

std::string Json::ascii() const {
  std::string out;
  write(out, -1, 0, true);
  return out;
}

std::string document(const Json& json, int indent) { return ordered_document(json.sorted(), indent); }

std::string ordered_document(const Json& json, int indent) { return json.dump(indent) + '\n'; }

}  // namespace mmaudit
