#include "mmaudit/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "gemm/tolerance_element.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/refusal.hpp"
#include "tile/product_reader.hpp"

namespace mmaudit {
namespace {

constexpr std::uint64_t kColumns = 32;  // decoded at a time, for all rows

/// Columns of B of one matrix, or a row of A, as factors.
class Operands {
 public:
  Operands(const DotSpec& spec, const Matmul& problem)
      : spec_(spec),
        reader_(spec, problem),
        k_(problem.k),
        block_(spec.scale_block),
        block_of_k_(spec.scale_block / spec.sparsity.kept * spec.sparsity.group) {}

  void row(std::uint64_t i, detail::Factors& out) const {
    detail::read_factors(
        spec_, spec_.a, {reader_.stored_k, reader_.blocks, block_},
        [&](std::uint64_t k) { return reader_.a(i, k); },
        [&](std::uint64_t block) { return reader_.scale_a(i, block); }, out);
    if (spec_.sparsity == Sparsity{}) return;
    out.at.resize(reader_.stored_k);
    for (std::uint64_t k = 0; k < reader_.stored_k; ++k) out.at[k] = reader_.met(i, k);
  }
  void column(std::uint64_t matrix, std::uint64_t j, detail::Factors& out) const {
    detail::read_factors(
        spec_, spec_.b, {k_, reader_.blocks, block_of_k_},
        [&](std::uint64_t k) { return reader_.b(matrix, k, j); },
        [&](std::uint64_t block) { return reader_.scale_b(matrix, block, j); }, out);
  }

 private:
  const DotSpec& spec_;
  ProductReader reader_;
  std::uint64_t k_;
  int block_, block_of_k_;  ///< elements per scale
};

/// Integers that no step clamps: an instruction has one result, in any order. It counts as exact.
bool exact_in_any_order(const Datapath& datapath) {
  return datapath.arithmetic == Arithmetic::integer && datapath.saturation != SaturationRule::every_step;
}

/// Whether every element of D has the bits of matmul(); any NaN equals any NaN.
bool has_bits_of_model(const Instruction& instruction, const Datapath& datapath, const Matmul& problem) {
  const FormatSpec d = output_of(instruction, problem);
  const std::uint64_t count = problem.batch * problem.m * problem.n, bytes = d.storage_bytes();
  std::vector<std::byte> model(count * bytes);
  Matmul same = problem;
  same.d = model.data();
  matmul(instruction, datapath, same);
  for (std::uint64_t e = 0; e < count; ++e)
    if (load_word(problem.d, bytes, e) != load_word(model.data(), bytes, e)) return false;
  return true;
}

}  // namespace

std::string why_no_tolerance(const Instruction& instruction, const Datapath& datapath,
                             const Matmul& problem) {
  if (std::string why = why_no_matmul(instruction, datapath, problem); !why.empty()) return why;
  if (is_sparse(instruction.op) && datapath.metadata != MetadataRule::selected)
    return refusal("row: found metadata that select other elements, allowed: those that they name");
  if (exact_in_any_order(datapath)) return {};
  const std::string why = why_no_error_bound(make_dot_spec(instruction, datapath));
  return why.empty() ? std::string() : refusal("row: found {}, allowed: fused dot-adds that truncate", why);
}

GemmTolerance gemm_tolerance(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
                             unsigned threads) {
  GemmTolerance out;
  for (std::vector<double>* each : {&out.exact, &out.bound, &out.reach, &out.reach_square})
    each->resize(problem.batch * problem.m * problem.n);
  if (exact_in_any_order(datapath)) {
    std::vector<std::int32_t> sums(out.exact.size());
    Matmul work = problem;
    work.d = sums.data();
    matmul(instruction, datapath, work, {.threads = threads, .level = {}, .progress = {}});
    std::copy(sums.begin(), sums.end(), out.exact.begin());
    return out;
  }
  const DotSpec spec = make_dot_spec(instruction, datapath);
  const detail::ElementTolerance element(instruction, spec, problem);
  const Operands operands(spec, problem);
  const FormatSpec format_of_c = output_of(instruction, problem);
  const std::uint64_t panels = detail::quotient_up(problem.n, kColumns);
  detail::parallel_for(problem.batch * panels, threads, [&](std::uint64_t task) {
    const std::uint64_t matrix = task / panels, first = task % panels * kColumns;
    std::vector<detail::Factors> columns(std::min(kColumns, problem.n - first));
    for (std::uint64_t j = 0; j < columns.size(); ++j) operands.column(matrix, first + j, columns[j]);
    detail::Factors row;
    for (std::uint64_t i = matrix * problem.m; i < (matrix + 1) * problem.m; ++i) {
      operands.row(i, row);
      for (std::uint64_t j = 0; j < columns.size(); ++j) {
        const std::uint64_t e = i * problem.n + first + j;
        const double c =
            problem.c == nullptr
                ? 0
                : decode_value(load_word(problem.c, format_of_c.storage_bytes(), e), format_of_c);
        element.run(row, columns[j], c, e, out);
      }
    }
  });
  return out;
}

GemmCheck check_gemm(const Instruction& instruction, const Datapath& datapath, const Matmul& problem) {
  const GemmTolerance tolerance = gemm_tolerance(instruction, datapath, problem);
  const FormatSpec d = output_of(instruction, problem);
  GemmCheck check;
  double worst = -1;
  check.vacuous = true;
  for (std::uint64_t e = 0; e < tolerance.exact.size(); ++e) {
    const double exact = tolerance.exact[e], bound = tolerance.bound[e];
    if (!std::isfinite(bound)) continue;  // IEEE decides, or an overflow is allowed
    ++check.elements;
    if (std::fabs(exact) > bound) check.vacuous = false;
    const double found = decode_value(load_word(problem.d, d.storage_bytes(), e), d);
    const double error = std::fabs(found - exact);
    const bool good = error <= bound;  // false for a NaN
    if (!good) ++check.beyond;
    const double share = !std::isfinite(error) ? std::numeric_limits<double>::infinity()
                         : bound > 0           ? error / bound
                         : error > 0           ? std::numeric_limits<double>::infinity()
                                               : 0.0;
    if (share <= worst) continue;
    worst = share;
    check.worst_column = e % problem.n;
    check.worst_row = e / problem.n % problem.m;
    check.worst_matrix = e / problem.n / problem.m;
    check.worst_exact = exact;
    check.worst_found = found;
    check.worst_bound = bound;
  }
  check.within = check.elements != 0 && check.beyond == 0;
  check.vacuous = check.vacuous && !has_bits_of_model(instruction, datapath, problem);
  return check;
}

std::string GemmCheck::explanation() const {
  std::ostringstream out;
  out.precision(9);
  if (elements == 0) {
    out << "no element has a finite bound: nothing was checked";
    return out.str();
  }
  if (vacuous) out << "vacuous: a result of zeros would pass too; ";
  out << beyond << " of " << elements << " elements are beyond their bound; worst (" << worst_matrix << ", "
      << worst_row << ", " << worst_column << "): " << worst_found << ", exact " << worst_exact << ", error "
      << std::fabs(worst_found - worst_exact) << ", bound " << worst_bound;
  return out.str();
}

}  // namespace mmaudit
