#pragma once
// One operand as `mmaudit layout` shows it, wherever its map comes from.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mmaudit/fragment.hpp"
#include "mmaudit/report/fragment_picture.hpp"

namespace mmaudit::cli {

struct LayoutOperand {
  static constexpr std::int32_t kNone = -1;

  std::string name;  ///< "A", "A by columns"
  Format format = Format::none;
  int rows = 0, cols = 0, lanes = 0, values = 0;
  std::vector<std::int32_t> element;  ///< by lane * values + value: row * cols + column, kNone
};

LayoutOperand layout_operand(std::string name, Format format, const FragmentMap& map);

report::FragmentPicture picture_of(const Instruction& instruction, const LayoutOperand& operand);
nlohmann::json to_json(const LayoutOperand& operand);

}  // namespace mmaudit::cli
