// A layer whose K is split over GPUs against plans of one GPU.
#include <fmt/format.h>

#include "collective_plan.hpp"
#include "gemm/compare.hpp"
#include "gemm/decisions.hpp"
#include "gemm_files.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::cli {
namespace {

/// D of one GPU's part of K, or of a plan of one GPU.
std::vector<std::byte> product(const corpus::DecisionFile& file, const GemmProblem& problem,
                               const GemmPlan& plan, const corpus::Operand& a, const corpus::Operand& b) {
  return checks::predicted(*find_architecture(file.architecture), problem, plan,
                           {a.data(), b.data(), nullptr, nullptr}, nullptr);
}

/// Columns [first, first + k) of A, or rows of B.
corpus::Operand part_of(const corpus::Operand& whole, bool columns, std::uint64_t first, std::uint64_t k,
                        std::size_t bytes) {
  corpus::Operand out = whole;
  const std::uint64_t rows = whole.tensor.shape[1], width = whole.tensor.shape[2];
  out.tensor.shape[columns ? 2 : 1] = k;
  out.tensor.data.clear();
  for (std::uint64_t row = columns ? 0 : first; row < (columns ? rows : first + k); ++row) {
    const std::byte* const at = whole.tensor.data.data() + (row * width + (columns ? first : 0)) * bytes;
    out.tensor.data.insert(out.tensor.data.end(), at, at + (columns ? k : width) * bytes);
  }
  return out;
}

std::uint64_t unlike(const std::vector<std::byte>& a, const std::vector<std::byte>& b, std::size_t bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < a.size() / bytes; ++i)
    out += load_word(a.data(), bytes, i) != load_word(b.data(), bytes, i) ? 1 : 0;
  return out;
}

}  // namespace

int split_layer(const CollectiveOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), input_files_of(options));
  const Format type = type_of(options.type);
  const corpus::DecisionFile file = decisions_like(options.like);
  const FormatSpec format = spec_of(type);
  const std::size_t bytes = format.storage_bytes();
  const corpus::Operand a = corpus::load_operand("--a", options.a, format, {1}, nullptr);
  const corpus::Operand b = corpus::load_operand("--b", options.b, format, {1, a.tensor.shape[2]}, nullptr);
  GemmProblem whole;
  whole.api = GemmApi::cublas, whole.type = type, whole.transposed_b = true;
  whole.m = a.tensor.shape[1], whole.n = b.tensor.shape[2], whole.k = a.tensor.shape[2];
  if (whole.k == 0) refuse("--a: found K = 0, allowed: 1 or more");
  report::Report found{.title = "A row-parallel layer on several GPUs"};
  struct Result {
    std::string name;
    std::vector<std::byte> d;
  };
  std::vector<Result> parallel, single;
  std::optional<GemmPlan> plan;
  for (const std::string& gpus : options.split) {
    const std::uint64_t ranks = whole_number<std::uint64_t>(gpus).value_or(0);
    if (ranks == 0 || whole.k % ranks != 0)
      refuse("--tp: found {}, allowed: divisors of K = {}", gpus, whole.k);
    GemmProblem part = whole;
    part.k = whole.k / ranks;
    const DecidedPlan decided = checks::plan_decided(file, part);
    if (!decided.plan)
      refuse("--tp: found {}, whose products have no known plan ({}), allowed: others", ranks, decided.why);
    std::vector<std::byte> all;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::byte> d =
          product(file, part, *decided.plan, part_of(a, true, rank * part.k, part.k, bytes),
                  part_of(b, false, rank * part.k, part.k, bytes));
      all.insert(all.end(), d.begin(), d.end());
    }
    std::string how = fmt::format("TP {}: {}; {}", ranks, mmaudit::text_of(*decided.plan), decided.source);
    if (ranks > 1) {
      const Planned one = planned(options, type, ranks, whole.m * whole.n);
      all = result_of(one, all);
      how += "; " + mmaudit::text_of(one.plan);
    }
    found.lead.push_back(how);
    parallel.push_back({fmt::format("TP {}", ranks), std::move(all)});
    if (!plan || ranks == 1) plan = decided.plan;
  }
  for (const std::uint64_t slices : {1U, 2U, 4U, 8U})
    for (const bool in_type : {false, true}) {
      if (slices == 1 && in_type) continue;
      GemmPlan one = *plan;
      one.slices = slices, one.slice_rule = SliceRule::even, one.slice_order = SliceOrder::ascending;
      one.partial = one.total = in_type ? type : Format::f32;
      single.push_back({fmt::format("{} slice{} in {}", slices, slices == 1 ? "" : "s", name_of(one.partial)),
                        product(file, whole, one, a, b)});
    }
  report::Table table{.title = "Elements with other bits", .columns = {""}};
  for (const Result& row : parallel) table.columns.emplace_back(row.name, true);
  for (const auto* const rows : {&parallel, &single})
    for (const Result& row : *rows) {
      auto& cells = table.rows.emplace_back();
      cells.emplace_back((rows == &single ? "one GPU, " : "") + row.name);
      for (const Result& column : parallel) {
        const std::uint64_t wrong = unlike(row.d, column.d, bytes);
        cells.emplace_back(std::to_string(wrong), wrong == 0 ? report::Tone::good : report::Tone::plain);
      }
    }
  found.headline = fmt::format("{} x {} x {}, {}, on {}: {} elements", whole.m, whole.n, whole.k,
                               name_of(type), file.gpu, whole.m * whole.n);
  found.sections.push_back(section_of(std::move(table)));
  return options.outputs.publish(std::move(found), context);
}

}  // namespace mmaudit::cli
