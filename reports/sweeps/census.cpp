#include "sweeps/census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mmaudit/csv.hpp"
#include "mmaudit/sass/opcode.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/sweeps/sass.hpp"

namespace mmaudit::sweeps {
namespace {

/// A timed kernel that the census knows.
struct CensusKernel {
  std::string subject;
  std::vector<std::string_view> expected;
  bool dpx = false;
  std::optional<CoreType> type = {};
};

/// What benchmarks/mma.cu instantiates for the census alone.
constexpr std::pair<std::string_view, std::string_view> kUntimed[] = {
    {"Mma<Mma_m8n8k4_f32_f16_f16_f32>, 1, 16", "mma.m8n8k4.f32.f16.f16.f32"},
    {"Mma<Mma_m8n8k4_f16_f16_f16_f16>, 1, 16", "mma.m8n8k4.f16.f16.f16.f16"}};

std::optional<CoreType> type_of(const Benchmark& benchmark) {
  return benchmark.instruction ? core_type_of(*benchmark.instruction) : std::nullopt;
}

/// Kernels with one chain by the template arguments of their symbol.
std::map<std::string, CensusKernel> known_kernels() {
  std::map<std::string, CensusKernel> known;
  for (const auto& [symbol, subject] : kUntimed)
    known.try_emplace(std::string(symbol), CensusKernel{std::string(subject), {}, false, CoreType::f16});
  const std::vector<Axis> axes = resolve_axes({"warps=[1,4]", "ilp=1", "init=zero", "group=[1,8]"}, false);
  for (const Benchmark& benchmark : benchmarks())
    for (const Point& point : points_of(benchmark, axes)) {
      const std::string symbol = benchmark.kernel(point).symbol;
      constexpr std::string_view kSame[] = {"scope", "init", "warps", "ilp"};
      if (symbol.empty()) continue;
      known.try_emplace(symbol, CensusKernel{point.key(kSame), benchmark.sass.opcodes,
                                             benchmark.family.starts_with("DPX"), type_of(benchmark)});
    }
  return known;
}

/// "2 x " for 8 in 4 copies, "0.5 x " for 2 in 4.
std::string each(int count, int copies) {
  return count == copies ? std::string() : fmt::format("{:.3g} x ", static_cast<double>(count) / copies);
}

bool does_the_work(const CensusRow& row, std::string_view opcode) {
  return row.type ? sass::opcode_of(opcode).kind == sass::Kind::matrix : matches(opcode, row.expected);
}

}  // namespace

std::string CensusRow::matrix() const {
  std::string text;
  if (dpx) {
    // What is left over after whole steps belongs to the loop.
    for (const auto& [opcode, count] : opcodes)
      if (const int whole = count / std::max(copies, 1); whole > 0)
        text += (text.empty() ? "" : " + ") + each(whole, 1) + opcode;
    return text;
  }
  for (const auto& [opcode, count] : opcodes)
    if (does_the_work(*this, opcode)) text += (text.empty() ? "" : " + ") + each(count, copies) + opcode;
  if (!text.empty()) return text;
  // The opcode that there is most of does the work.
  const auto most = std::max_element(opcodes.begin(), opcodes.end(),
                                     [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == opcodes.end() ? "nothing" : each(most->second, copies) + most->first;
}

std::string_view CensusRow::verdict() const {
  if (dpx) {
    const bool unit = std::any_of(opcodes.begin(), opcodes.end(), [](const auto& one) {
      return sass::opcode_of(one.first).trait == sass::Trait::dpx;
    });
    return unit ? "native" : "software";
  }
  bool works = false, converts = false;
  for (const auto& [opcode, count] : opcodes) {
    // A function that is called spells the instruction out.
    const sass::Opcode row = sass::opcode_of(opcode);
    converts =
        converts || ((row.trait == sass::Trait::converts || row.kind == sass::Kind::call) && count >= copies);
    if (!does_the_work(*this, opcode)) continue;
    works = true;
    const auto of = sass::matrix_instruction(opcode);
    converts = converts || (type && of && core_type_of(*of) != type);
  }
  return name_of(!works ? UnitUse::code : converts ? UnitUse::converted : UnitUse::native);
}

std::vector<CensusRow> census_of(std::string_view sass) {
  const std::map<std::string, CensusKernel> known = known_kernels();
  SassReader reader;
  for (const std::string_view line : split(sass, '\n')) reader.line(line);
  std::vector<CensusRow> rows;
  for (const SassKernel& kernel : reader.kernels()) {
    const auto at = known.find(kernel.symbol);
    if (at == known.end()) continue;
    // Of the versions of a loop the one of most steps; without a loop all there is.
    const SassLoop* loop = kernel.main();
    rows.push_back({.target = kernel.target,
                    .subject = at->second.subject,
                    .copies = loop == nullptr ? kernel.copies : loop->steps,
                    .opcodes = loop == nullptr ? kernel.between : loop->opcodes,
                    .expected = at->second.expected,
                    .dpx = at->second.dpx,
                    .type = at->second.type});
  }
  return rows;
}

std::string census_csv(const std::vector<CensusRow>& rows) {
  std::string text = "target,subject,matrix,verdict,opcodes\n";
  for (const CensusRow& row : rows) {
    std::string opcodes;
    for (const auto& [opcode, count] : row.opcodes)
      opcodes += fmt::format("{}{} {}", opcodes.empty() ? "" : "; ", count, opcode);
    text += csv::line_of({row.target, row.subject, row.matrix(), row.verdict(), opcodes});
  }
  return text;
}

report::Table census_table(std::string_view csv, int target) {
  report::Table table{.title = "What the instructions become"};
  for (const std::string_view name : csv::fields_of(csv.substr(0, csv.find('\n'))))
    table.columns.emplace_back(name, false, name == "opcodes");
  for (const std::vector<std::string_view>& cells : csv::rows_of(csv, "")) {
    const std::string_view found = cells.front();
    const std::string wanted = fmt::format("sm_{}", target);
    if (found == "target" || (target != 0 && found != wanted && found != wanted + "a")) continue;
    table.rows.emplace_back(cells.begin(), cells.end());
  }
  return table;
}

}  // namespace mmaudit::sweeps
