#include "capabilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "mmaudit/json.hpp"
#include "mmaudit/model/ocp.hpp"
#include "mmaudit/model/tensor_cores.hpp"

namespace mmaudit::cli {
namespace {

/// Formats that hardware treats alike are one type here.
std::string type_of(Format format) {
  const FormatSpec spec = spec_of(format);
  const int bits = spec.value_bits();
  if (spec.integer() && (bits == 8 || bits == 4)) return fmt::format("int{}", bits);
  if (spec.integer() || spec.signless || bits > 8) return std::string(name_of(format));
  return fmt::format("fp{}{}", bits, spec.specials == Specials::nan_at_minus_zero ? " fnuz" : "");
}

using Key = std::pair<std::string, std::string>;          ///< types, interface
using Cell = std::map<std::string, Evidence>;             ///< format of D, and how it is known
using Paths = std::map<const Architecture*, MatrixPath>;  ///< of several instructions the most native

struct Line {
  bool asynchronous = false;
  std::set<Ocp> ocp;  ///< of the instructions, without Ocp::none
  std::map<const Architecture*, Cell> cells;
  Paths paths;
};

struct Matrix {
  std::vector<Key> keys;  ///< in the order of the instructions
  std::map<Key, Line> lines;
};

Matrix matrix_of(std::span<const Architecture* const> architectures) {
  Matrix out;
  for (const Instruction& inst : kInstructions) {
    const Key key{types_of(inst), interface_of(inst)};
    for (const Architecture* architecture : architectures)
      if (const DatapathEntry* entry = find_datapath(*architecture, inst)) {
        if (!out.lines.contains(key)) out.keys.push_back(key);
        Line& line = out.lines[key];
        line.asynchronous = is_asynchronous(inst.op);
        if (ocp_of(inst) != Ocp::none) line.ocp.insert(ocp_of(inst));
        Evidence& known =
            line.cells[architecture].try_emplace(std::string(name_of(inst.d)), entry->evidence).first->second;
        known = std::min(known, entry->evidence);
        if (const auto path = path_of(*architecture, inst)) {
          MatrixPath& best = line.paths.try_emplace(architecture, *path).first->second;
          if (path->use < best.use) best = *path;
        }
      }
  }
  return out;
}

/// What GPUs have and this model does not, and which instruction of the model would be one.
struct Missing {
  std::string_view text;
  bool (*is_one)(const Instruction& inst);
};
constexpr Missing kMissing[] = {
    {"AMD's int8", [](const Instruction& x) { return x.op == Op::mfma && spec_of(x.a).integer(); }},
    {"AMD's sparse v_smfmac", [](const Instruction& x) { return interface_of(x) == "v_smfmac"; }},
    {"mma.sp of fp6 and fp4",
     [](const Instruction& x) {
       return x.op == Op::mma_sp && (type_of(x.a) == "fp4" || type_of(x.b) == "fp4");
     }},
    {"block-scaled mma.sp",
     [](const Instruction& x) { return x.op == Op::mma_sp && x.scale != Format::none; }},
    {"block-scaled tcgen05.sp",
     [](const Instruction& x) { return x.op == Op::tcgen05_sp && x.scale != Format::none; }}};

std::vector<std::string_view> ocp_names(const Line& line) {
  std::vector<std::string_view> names;
  for (const Ocp one : line.ocp) names.push_back(name_of(one));
  return names;
}

}  // namespace

std::string types_of(const Instruction& inst) {
  // All types that meet under one kind share a row: an instruction that mixes fp8, fp6 and fp4 takes any two
  // of them.
  static const auto mixed_types = [] {
    std::map<std::pair<std::string, MmaKind>, std::set<std::string>> mixed;
    for (const Instruction& one : kInstructions)
      if (one.kind == MmaKind::f8f6f4 || one.kind == MmaKind::mxf8f6f4)
        mixed[{interface_of(one), one.kind}].insert({type_of(one.a), type_of(one.b)});
    return mixed;
  }();
  std::string types = type_of(inst.a);
  if (const auto found = mixed_types.find({interface_of(inst), inst.kind}); found != mixed_types.end()) {
    types.clear();
    for (const std::string& one : found->second) types.insert(0, one + (types.empty() ? "" : ", "));
  } else if (type_of(inst.b) != types) {
    types += ", " + type_of(inst.b);
  }
  return types;
}

std::string interface_of(const Instruction& inst) {
  if (inst.op == Op::mfma) return "v_mfma";
  const std::string name = name_of(inst);
  std::string out = name.substr(0, name.find(".m"));
  if (inst.scale != Format::none)
    out += fmt::format(" scaled by {} per {}", name_of(inst.scale), inst.scale_block);
  return out;
}

namespace {

report::Table table_of(const Matrix& matrix, std::span<const Architecture* const> architectures) {
  report::Table table;
  table.columns = {"A, B", "instruction", "mode", "OCP"};
  for (const Architecture* one : architectures) table.columns.emplace_back(one->name);
  for (const Key& key : matrix.keys) {
    const Line& line = matrix.lines.at(key);
    auto& row = table.rows.emplace_back();
    row = {key.first, key.second, line.asynchronous ? "async" : "sync",
           line.ocp.empty() ? "-" : fmt::format("{}", fmt::join(ocp_names(line), ", "))};
    for (const Architecture* one : architectures) {
      const auto cell = line.cells.find(one);
      std::string text;
      bool papers = true;
      if (cell != line.cells.end())
        for (const auto& [format, evidence] : cell->second) {
          text += (text.empty() ? "" : " ") + format;
          papers = papers && evidence == Evidence::literature;
        }
      const auto path = line.paths.find(one);
      const bool converted = path != line.paths.end() && path->second.use == UnitUse::converted;
      row.emplace_back(text.empty() ? "-" : text + (converted ? " ~" : "") + (papers ? " ?" : ""));
    }
  }
  return table;
}

std::string not_in_the_model() {
  std::vector<std::string_view> names;
  for (const Missing& one : kMissing)
    if (std::none_of(kInstructions.begin(), kInstructions.end(), one.is_one)) names.push_back(one.text);
  return fmt::format("{}", fmt::join(names, "; "));
}

std::string json_of(const Matrix& matrix) {
  Json out = {{"schema", "mmaudit.capabilities/1"}, {"rows", Json::array()}};
  for (const Key& key : matrix.keys) {
    const Line& line = matrix.lines.at(key);
    Json row = {{"types", key.first},     {"instruction", key.second}, {"asynchronous", line.asynchronous},
                {"ocp", ocp_names(line)}, {"results", Json::object()}, {"units", Json::object()}};
    for (const auto& [architecture, cell] : line.cells)
      for (const auto& [format, evidence] : cell)
        row["results"][std::string(architecture->name)][format] = name_of(evidence);
    for (const auto& [architecture, path] : line.paths)
      row["units"][std::string(architecture->name)] = fmt::format("{} {}", name_of(path.use), path.opcode);
    out["rows"].push_back(row);
  }
  return document(out);
}

constexpr std::array kLegend = {
    "D's formats. ?: known from papers alone. fp8: e4m3, e5m2; fp6: e3m2, e2m3; fp4: e2m1.",
    "~: converted for a tensor core of other types. mma.m8n8k4 of f16 is code without one from Ampere on.",
    "A and B of one type, or any two of those named.",
    "async: the program goes on and waits for D later.",
    "OCP: what the Open Compute Project specifies. OFP8: the formats. MX: formats, scales and blocks of 32.",
    "elements: formats of MX, without scales. no: other formats, scales or blocks. -: not its subject.",
    "Under a generation, -: it lacks the instruction, or the instruction is one of those not in this model."};

}  // namespace

report::Report capability_report(std::span<const Architecture* const> architectures) {
  const Matrix matrix = matrix_of(architectures);
  report::Report out{.title = "What each generation multiplies"};
  out.sections.push_back({.tables = {table_of(matrix, architectures)}});
  out.sections.push_back({.title = "Legend", .lines = {kLegend.begin(), kLegend.end()}});
  out.sections.back().lines.push_back(fmt::format("Not in this model: {}.", not_in_the_model()));
  out.json = [matrix] { return json_of(matrix); };
  return out;
}

}  // namespace mmaudit::cli
