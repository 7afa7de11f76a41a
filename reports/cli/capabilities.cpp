#include "capabilities.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace mmaudit::cli {
namespace {

/// Formats that hardware treats alike are one type here.
std::string type_of(Format format) {
  switch (format) {
    case Format::e4m3:
    case Format::e5m2:
      return "fp8";
    case Format::e4m3fnuz:
    case Format::e5m2fnuz:
      return "fp8 fnuz";
    case Format::e3m2:
    case Format::e2m3:
      return "fp6";
    case Format::e2m1:
      return "fp4";
    case Format::s8:
    case Format::u8:
      return "int8";
    case Format::s4:
    case Format::u4:
      return "int4";
    default:
      return std::string(name_of(format));
  }
}

/// "mma.sp" of "mma.sp.m16n8k32.f32...", with the format of the scales where there are some.
std::string interface_of(const Instruction& inst) {
  const std::string name = name_of(inst);
  if (inst.op == Op::mfma) return "v_mfma";
  std::string out = name.substr(0, name.find(".m"));
  if (inst.scale != Format::none) out += " scaled by " + std::string(name_of(inst.scale));
  return out;
}

using Key = std::pair<std::string, std::string>;  ///< types, interface
using Cell = std::map<std::string, Evidence>;     ///< format of D, and how it is known

struct Matrix {
  std::vector<Key> keys;  ///< in the order of the instructions
  std::map<Key, std::map<const Architecture*, Cell>> cells;
};

Matrix matrix_of(std::span<const Architecture* const> architectures) {
  // All types that meet under one kind share a row: an instruction that mixes fp8, fp6 and fp4 takes any two
  // of them.
  std::map<std::pair<std::string, MmaKind>, std::set<std::string>> mixed;
  for (const Instruction& inst : kInstructions)
    if (inst.kind == MmaKind::f8f6f4 || inst.kind == MmaKind::mxf8f6f4)
      mixed[{interface_of(inst), inst.kind}].insert({type_of(inst.a), type_of(inst.b)});
  Matrix out;
  for (const Instruction& inst : kInstructions) {
    std::string types = type_of(inst.a);
    if (type_of(inst.b) != types) types += ", " + type_of(inst.b);
    if (const auto found = mixed.find({interface_of(inst), inst.kind}); found != mixed.end()) {
      types.clear();
      for (const std::string& one : found->second) types.insert(0, one + (types.empty() ? "" : ", "));
    }
    const Key key{types, interface_of(inst)};
    for (const Architecture* architecture : architectures)
      if (const DatapathEntry* entry = find_datapath(*architecture, inst)) {
        if (!out.cells.contains(key)) out.keys.push_back(key);
        Evidence& known = out.cells[key][architecture]
                              .try_emplace(std::string(name_of(inst.d)), entry->evidence)
                              .first->second;
        known = std::min(known, entry->evidence);
      }
  }
  return out;
}

}  // namespace

report::Table capability_table(std::span<const Architecture* const> architectures) {
  const Matrix matrix = matrix_of(architectures);
  report::Table table{.title = "Capabilities"};
  table.columns = {report::Column("A, B"), report::Column("instruction")};
  for (const Architecture* one : architectures) table.columns.emplace_back(one->name);
  for (const Key& key : matrix.keys) {
    auto& row = table.rows.emplace_back();
    row.emplace_back(key.first);
    row.emplace_back(key.second);
    for (const Architecture* one : architectures) {
      const auto& cells = matrix.cells.at(key);
      const auto cell = cells.find(one);
      std::string text;
      bool papers = true;
      if (cell != cells.end())
        for (const auto& [format, evidence] : cell->second) {
          text += (text.empty() ? "" : " ") + format;
          papers = papers && evidence == Evidence::literature;
        }
      row.emplace_back(text.empty() ? "-" : text + (papers ? " ?" : ""));
    }
  }
  return table;
}

std::string capability_json(std::span<const Architecture* const> architectures) {
  const Matrix matrix = matrix_of(architectures);
  nlohmann::json out = {{"schema", "mmaudit.capabilities/1"}, {"rows", nlohmann::json::array()}};
  for (const Key& key : matrix.keys) {
    nlohmann::json row = {
        {"types", key.first}, {"instruction", key.second}, {"results", nlohmann::json::object()}};
    for (const auto& [architecture, cell] : matrix.cells.at(key))
      for (const auto& [format, evidence] : cell)
        row["results"][std::string(architecture->name)][format] = name_of(evidence);
    out["rows"].push_back(row);
  }
  return out.dump(2) + "\n";
}

}  // namespace mmaudit::cli
