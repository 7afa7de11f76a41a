#include "mmaudit/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "mmaudit/convert.hpp"
#include "mmaudit/detail/slices.hpp"
#include "mmaudit/error_bound.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

/// Two binary64 words: what the additions round off is kept.
struct Sum {
  double high = 0, low = 0;
  void add(double x) {
    const double sum = high + x, back = sum - high;
    low += (high - (sum - back)) + (x - back);
    high = sum;
  }
  [[nodiscard]] double value() const { return std::isfinite(high) ? high + low : high; }
};

int exponent_of(double x, const FormatSpec& format) {
  return x == 0 ? -10000 : std::max(std::ilogb(x), format.min_exponent());
}

/// One element: its products in the order of the chains.
class Element {
 public:
  Element(const DotPlan& plan, const ChainErrorBound& chain, const Instruction& instruction,
          const Matmul& problem)
      : plan_(plan), chain_(chain), problem_(problem), depth_(static_cast<std::uint64_t>(instruction.k)) {}

  void run(std::uint64_t matrix, std::uint64_t i, std::uint64_t j, double c, double& exact,
           double& bound) const {
    const std::uint64_t slice = std::max<std::uint64_t>(detail::slice_length(problem_, depth_), depth_);
    const std::uint64_t length = problem_.promote != 0 ? problem_.promote : slice;
    const bool totals = problem_.promote != 0 || problem_.split_k > 1;
    Sum sum;
    sum.add(c);
    // C starts the first chain, or the total of promotion: as part of the running sum it costs no less.
    double magnitude = std::fabs(c), error = 0;
    double of_chain = std::fabs(c);
    int largest = exponent_of(c, plan_.d);
    for (std::uint64_t first = 0; first < problem_.k; first += slice) {
      for (std::uint64_t at = first; at < std::min(problem_.k, first + slice); at += length) {
        const std::uint64_t last = std::min({problem_.k, first + slice, at + length});
        for (std::uint64_t k = at; k < last; ++k) {
          const double a = value(problem_.a, plan_.a, (matrix * problem_.m + i) * problem_.k + k);
          const double b = value(problem_.b, plan_.b, (matrix * problem_.k + k) * problem_.n + j);
          sum.add(a * b);
          of_chain += std::fabs(a * b);
          magnitude += std::fabs(a * b);
          if (a != 0 && b != 0)
            largest = std::max(largest, exponent_of(a, plan_.a) + exponent_of(b, plan_.b));
        }
        error += chain_(detail::quotient_up(last - at, depth_), {of_chain * (1 + kGrowth), largest});
        if (totals) error += 2 * total_error_bound(magnitude + error);
        of_chain = 0;
        largest = -10000;
      }
    }
    exact = sum.value();
    const double most = decode_value(plan_.d.max_finite_bits(), plan_.d);
    bound = !std::isfinite(exact)           ? std::numeric_limits<double>::quiet_NaN()
            : magnitude + error >= most / 2 ? std::numeric_limits<double>::infinity()
                                            : error + 0x1p-50 * magnitude;
  }

 private:
  /// Sums of absolute values in binary64 are a little off.
  static constexpr double kGrowth = 0x1p-30;
  static double value(const void* from, const FormatSpec& format, std::uint64_t index) {
    return decode_value(load_word(from, format.storage_bytes(), index), format);
  }

  const DotPlan& plan_;
  const ChainErrorBound& chain_;
  const Matmul& problem_;
  std::uint64_t depth_;
};

}  // namespace

std::string why_no_tolerance(const Instruction& instruction, const Datapath& datapath,
                             const Matmul& problem) {
  if (std::string why = why_no_matmul(instruction, datapath, problem); !why.empty()) return why;
  if (problem.epilogue) return "epilogue: found one, allowed: none";
  if (is_sparse(instruction.op) || instruction.scale != Format::none)
    return "instruction: found " + name_of(instruction) + ", allowed: a dense one without block scales";
  const std::string why = why_no_error_bound(make_plan(instruction, datapath));
  return why.empty() ? std::string() : "row: found " + why + ", allowed: fused dot-adds that truncate";
}

GemmTolerance gemm_tolerance(const Instruction& instruction, const Datapath& datapath,
                             const Matmul& problem) {
  const DotPlan plan = make_plan(instruction, datapath);
  const ChainErrorBound chain(plan);
  const Element element(plan, chain, instruction, problem);
  GemmTolerance out;
  out.exact.resize(problem.batch * problem.m * problem.n);
  out.bound.resize(out.exact.size());
  std::uint64_t e = 0;
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix)
    for (std::uint64_t i = 0; i < problem.m; ++i)
      for (std::uint64_t j = 0; j < problem.n; ++j, ++e) {
        const double c =
            problem.c == nullptr ? 0 : decode_value(load_word(problem.c, plan.d.storage_bytes(), e), plan.d);
        element.run(matrix, i, j, c, out.exact[e], out.bound[e]);
      }
  return out;
}

GemmCheck check_gemm(const Instruction& instruction, const Datapath& datapath, const Matmul& problem) {
  const GemmTolerance tolerance = gemm_tolerance(instruction, datapath, problem);
  const FormatSpec d = spec_of(instruction.d);
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
    if (!good) ++check.beyond, check.within = false;
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
