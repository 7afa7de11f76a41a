#include "mmaudit/report/audit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/convert.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

/// Depths of one unit share a line: with one or two terms they have the same errors.
bool same_unit(const DtypeSummary& summary, const ProfileCell& cell) {
  const auto x = find_instruction(summary.instruction), y = find_instruction(cell.instruction);
  return summary.dtype == cell.dtype && summary.output == cell.output && x && y && x->unit == y->unit;
}

std::vector<std::string> limits(const Architecture& architecture, const AuditResult& result) {
  std::vector<std::string> list = {
      "Error levels of sparse instructions (the dense one has the same over the stored elements) and, per "
      "data type, of block-scaled kinds; integer and binary instructions are exact and have none.",
      "A comparison covers the inputs that were compared. It is evidence, not a proof for every input.",
      "The error levels per data type are for N(0, 1) inputs and one or two terms (999 or 1000 rounds each). "
      "Whole products of tensors that are not in the study have other errors: mmaudit audit --a A --b B.",
      "Libraries on top of an instruction (cuBLAS, CUTLASS) split k, scale and add in their own order.",
  };
  for (const DatapathEntry& entry : architecture.datapaths)
    if (entry.evidence != Evidence::recorded)
      list.push_back(fmt::format("{} with {} results on {}: known from {} only ({}).", name_of(entry.unit),
                                 title_of(entry.output), architecture.name,
                                 entry.evidence == Evidence::replayed     ? "a public data set"
                                 : entry.evidence == Evidence::literature ? "papers"
                                                                          : "the user's file",
                                 entry.source));
  if (result.cells.empty())
    list.emplace_back("No instruction of the element-wise profile exists on this backend.");
  return list;
}

std::string chain_method(const std::vector<ChainCurve>& curves, const ChainOptions& options) {
  if (curves.empty()) return "";
  std::string text = fmt::format(
      "D of mma.m16n8k8, converted to the type of A, is the next A; a new B every time; C = 0; N(0, 1), seed "
      "123456, {} rounds. Relative L2 error against FP32 on the CPU, over the norm of the tensor-core "
      "result.",
      options.rounds);
  std::string own_chains;
  for (const ChainCurve& curve : curves)
    if (curve.draws == ChainDraws::every_length && curve.init == Initialisation::low)
      own_chains += fmt::format("{}{}", own_chains.empty() ? "" : ", ", title_of(curve.dtype));
  if (!own_chains.empty())
    text += fmt::format(
        " {}: a chain of its own for every length, with the draws of the published programs, up to the first "
        "infinity.",
        own_chains);
  return text;
}

}  // namespace

std::vector<FormatFacts> format_facts() {
  std::vector<FormatFacts> facts;
  for (const NamedFormat& row : kFormats) {
    const FormatSpec& format = row.spec;
    if (format.integer()) continue;  // no rounding, nothing to list
    FormatFacts entry;
    entry.name = std::string(title_of(format.id));
    entry.exponent_bits = format.exponent_bits;
    entry.fraction_bits = format.fraction_bits;
    entry.epsilon = detail::power_of_two(-format.fraction_bits);
    const std::uint64_t unit = std::uint64_t{1} << format.ignored_low_bits;
    entry.min_normal = decode_value(format.no_zero ? 0 : unit << format.fraction_bits, format);
    entry.min_subnormal = format.no_zero ? entry.min_normal : decode_value(unit, format);
    entry.max_finite = decode_value(format.max_finite_bits(), format);
    entry.infinity = format.specials == Specials::ieee;
    facts.push_back(std::move(entry));
  }
  return facts;
}

std::vector<DtypeSummary> summarise(const std::vector<ProfileCell>& cells, const Architecture& architecture) {
  std::vector<DtypeSummary> rows;
  for (const ProfileCell& cell : cells) {
    if (cell.reference != Reference::fp32) continue;
    auto at =
        std::find_if(rows.begin(), rows.end(), [&](const DtypeSummary& row) { return same_unit(row, cell); });
    if (at == rows.end()) {
      DtypeSummary row;
      row.dtype = cell.dtype;
      row.output = cell.output;
      row.instruction = cell.instruction;
      const auto instruction = find_instruction(cell.instruction);
      if (const DatapathEntry* model = instruction ? find_datapath(architecture, *instruction) : nullptr) {
        row.accumulator = accumulator_text(model->datapath);
        row.evidence = std::string(name_of(model->evidence));
      }
      at = rows.insert(rows.end(), std::move(row));
    }
    at->instruction = cell.instruction;
    const bool fp32 = cell.init == Initialisation::fp32;
    if (fp32 && cell.operation == Operation::multiplication) at->conversion = cell.error;
    if (fp32 && cell.operation == Operation::inner_product_add) at->addition = cell.error;
    if (cell.operation == Operation::accumulation &&
        cell.init == (cell.output == Format::f32 ? Initialisation::low_raw_c : Initialisation::low))
      at->accumulator_alone = cell.error;
  }
  return rows;
}

AuditResult run_audit(const Architecture& architecture, const Backend& backend, const ChainOptions& chain) {
  AuditResult result;
  result.provenance.architecture = std::string(architecture.name);
  result.cells = elementwise_profile(backend);
  result.dtypes = summarise(result.cells, architecture);
  result.chains = chain_matmul(backend, chain);
  result.chain_method = chain_method(result.chains, chain);
  result.formats = format_facts();
  result.not_covered = limits(architecture, result);
  return result;
}

}  // namespace mmaudit::report
