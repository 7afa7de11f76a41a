#pragma once
// What the journal and the result of a campaign write alike.
#include <nlohmann/json.hpp>
#include <string>

#include "mmaudit/corpus/checksum.hpp"
#include "replay.hpp"

namespace mmaudit::cli {

inline constexpr std::size_t kMostExamples = 16;  ///< kept of a stretch, a journal, a result

inline std::string checksum_of(const nlohmann::json& object) {
  corpus::Checksum checksum;
  checksum.update(std::string_view(object.dump()));
  return checksum.hex();
}

inline nlohmann::json example_json(const Mismatch& one) {
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

}  // namespace mmaudit::cli
