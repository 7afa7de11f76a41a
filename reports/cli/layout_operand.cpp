#include "layout_operand.hpp"

#include <fmt/format.h>

#include <utility>

namespace mmaudit::cli {

LayoutOperand layout_operand(std::string name, Format format, const FragmentMap& map) {
  LayoutOperand operand{std::move(name), format, map.rows, map.cols, map.lanes, map.values, {}};
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      operand.element.push_back(at.row * map.cols + at.col);
    }
  return operand;
}

report::FragmentPicture picture_of(const Instruction& instruction, const LayoutOperand& operand) {
  report::FragmentPicture picture{
      fmt::format("{} of {}: {} x {} {}, {} values in each of {} lanes", operand.name, name_of(instruction),
                  operand.rows, operand.cols, name_of(operand.format), operand.values, operand.lanes),
      operand.rows,
      operand.cols,
      elements_per_register(operand.format),
      {}};
  picture.holders.resize(static_cast<std::size_t>(operand.rows) * static_cast<std::size_t>(operand.cols));
  for (std::size_t slot = 0; slot < operand.element.size(); ++slot) {
    const std::int32_t element = operand.element[slot];
    if (element == LayoutOperand::kNone) continue;
    picture.holders[static_cast<std::size_t>(element)].push_back(
        {static_cast<int>(slot) / operand.values, static_cast<int>(slot) % operand.values});
  }
  return picture;
}

nlohmann::json to_json(const LayoutOperand& operand) {
  nlohmann::json lanes = nlohmann::json::array();
  const auto values_of_lane = static_cast<std::size_t>(operand.values);
  for (std::size_t first = 0; first < operand.element.size(); first += values_of_lane) {
    nlohmann::json values = nlohmann::json::array();
    for (std::size_t value = 0; value < values_of_lane; ++value) {
      const std::int32_t element = operand.element[first + value];
      if (element == LayoutOperand::kNone)
        values.push_back(nullptr);
      else
        values.push_back({element / operand.cols, element % operand.cols});
    }
    lanes.push_back(values);
  }
  return {{"operand", operand.name},
          {"format", name_of(operand.format)},
          {"rows", operand.rows},
          {"cols", operand.cols},
          {"values_per_register", elements_per_register(operand.format)},
          {"row_col_by_lane_and_value", lanes}};
}

}  // namespace mmaudit::cli
