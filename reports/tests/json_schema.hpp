#pragma once
// The part of JSON Schema (2020-12) that docs/schema uses. Stricter in one way: a field that no schema names
// is an error, so that what the tool writes is what is published.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace mmaudit::test {

class JsonSchema {
 public:
  explicit JsonSchema(const std::string& file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("cannot read " + file);
    root_ = nlohmann::json::parse(in);
  }

  /// One line for everything wrong, with the way to it.
  [[nodiscard]] std::vector<std::string> errors(const nlohmann::json& value) const {
    std::vector<std::string> out;
    check(root_, value, "$", out);
    return out;
  }

 private:
  using Json = nlohmann::json;

  static bool is(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    throw std::runtime_error("schema: unknown type " + type);
  }

  void check(const Json& schema, const Json& value, const std::string& where,
             std::vector<std::string>& out) const {
    constexpr const char* kKnown[] = {"$schema", "$defs",    "$ref",     "title",      "description",
                                      "type",    "enum",     "const",    "properties", "required",
                                      "items",   "minItems", "maxItems", "minimum"};
    for (const auto& [key, rule] : schema.items())
      if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown))
        throw std::runtime_error("schema: unknown keyword " + key);
    if (schema.contains("$ref")) {
      const std::string to = schema.at("$ref");
      check(root_.at(Json::json_pointer(to.substr(1))), value, where, out);
    }
    if (schema.contains("const") && value != schema.at("const")) out.push_back(where + ": not the constant");
    if (schema.contains("enum")) {
      const Json& allowed = schema.at("enum");
      if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
        out.push_back(where + ": not one of the names: " + value.dump());
    }
    if (schema.contains("type")) {
      const Json types = schema.at("type").is_array() ? schema.at("type") : Json::array({schema.at("type")});
      if (std::none_of(types.begin(), types.end(), [&](const Json& type) { return is(value, type); })) {
        out.push_back(where + ": of another type: " + value.dump().substr(0, 60));
        return;
      }
    }
    if (schema.contains("minimum") && value.is_number() && value.get<double>() < schema.at("minimum"))
      out.push_back(where + ": too small");
    if (value.is_array()) {
      if (schema.contains("minItems") && value.size() < schema.at("minItems"))
        out.push_back(where + ": too short");
      if (schema.contains("maxItems") && value.size() > schema.at("maxItems"))
        out.push_back(where + ": too long");
      if (schema.contains("items"))
        for (std::size_t i = 0; i < value.size(); ++i)
          check(schema.at("items"), value[i], where + "[" + std::to_string(i) + "]", out);
    }
    if (!value.is_object() || !schema.contains("properties")) return;
    for (const Json& key : schema.at("required"))
      if (!value.contains(key)) out.push_back(where + ": lacks " + key.get<std::string>());
    for (const auto& [key, each] : value.items()) {
      if (!schema.at("properties").contains(key)) {
        out.push_back(std::string(where).append(": no schema names ").append(key));
      } else {
        check(schema.at("properties").at(key), each, std::string(where).append(".").append(key), out);
      }
    }
  }

  Json root_;
};

}  // namespace mmaudit::test
