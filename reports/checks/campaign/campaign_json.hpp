#pragma once
// What plan, journal and result of a campaign write alike.
#include <nlohmann/json.hpp>
#include <string>

#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/dot_case.hpp"

namespace mmaudit::campaign {

inline constexpr std::size_t kMostExamples = 16;  ///< kept of a work item, a journal, a result

inline std::string checksum_of(const nlohmann::json& object) {
  corpus::Checksum checksum;
  checksum.update(std::string_view(object.dump()));
  return checksum.hex();
}

inline nlohmann::json to_json(const Mismatch& one) {
  return {{"family", one.dot.input_class},
          {"tile", one.dot.tile},
          {"row", one.dot.row},
          {"column", one.dot.column},
          {"modifiers", one.dot.modifiers},
          {"a", one.dot.a},
          {"b", one.dot.b},
          {"c", one.dot.c},
          {"metadata", one.dot.metadata},
          {"hardware", one.expected},
          {"model", one.found}};
}

inline Mismatch mismatch_from(const nlohmann::json& json) {
  Mismatch one;
  one.dot.input_class = json.at("family").get<std::string>();
  json.at("tile").get_to(one.dot.tile);
  json.at("row").get_to(one.dot.row);
  json.at("column").get_to(one.dot.column);
  one.dot.modifiers = json.value("modifiers", std::uint8_t{0});  // old journals lack it
  json.at("a").get_to(one.dot.a);
  json.at("b").get_to(one.dot.b);
  json.at("c").get_to(one.dot.c);
  json.at("metadata").get_to(one.dot.metadata);
  json.at("hardware").get_to(one.expected);
  json.at("model").get_to(one.found);
  return one;
}

}  // namespace mmaudit::campaign
