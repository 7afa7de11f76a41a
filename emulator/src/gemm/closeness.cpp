// A D against matmul()'s: what another order inside the instructions may change, and no more.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/tolerance.hpp"

namespace mmaudit {
namespace {

constexpr std::uint64_t kLeast = 100;  // different elements of which a mean says something
constexpr int kOrders = 16;            // drawn
constexpr double kTests = 4;           // elements, order, drift and spread share the false alarms
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool same(double found, double model) { return found == model || (std::isnan(found) && std::isnan(model)); }

/// Copies of the operands with the products of every instruction, or of every scale block in it, in a random
/// order; of a sparse A, its groups.
class OtherOrders {
 public:
  OtherOrders(const Instruction& instruction, const Matmul& problem)
      : problem_(problem),
        sparsity_(sparsity_of(instruction)),
        run_(instruction.k / sparsity_.group),
        of_a_(spec_of(instruction.a).storage_bytes() * static_cast<std::size_t>(sparsity_.kept)),
        of_b_(spec_of(instruction.b).storage_bytes() * static_cast<std::size_t>(sparsity_.group)),
        groups_(problem.k / static_cast<std::uint64_t>(sparsity_.group)),
        a_(problem.batch * problem.m * groups_ * of_a_),
        b_(problem.batch * groups_ * problem.n * of_b_) {
    if (instruction.scale_block != 0) run_ = std::min(run_, instruction.scale_block / sparsity_.group);
    if (problem.metadata != nullptr)
      metadata_.resize(stored_k(instruction, problem) * problem.batch * problem.m);
  }

  /// The next one; A, B and metadata point into this.
  const Matmul& next() {
    std::vector<std::uint64_t> order(groups_);
    std::iota(order.begin(), order.end(), 0);
    const auto run = static_cast<std::uint64_t>(run_);
    for (std::uint64_t at = 0; at < groups_; ++at)
      std::swap(order[at], order[at + draws_.below(std::min(groups_, (at / run + 1) * run) - at)]);
    const auto kept = static_cast<std::size_t>(sparsity_.kept);
    for (std::uint64_t row = 0; row < problem_.batch * problem_.m; ++row)
      copy(problem_.a, a_.data(), row, order, of_a_);
    for (std::uint64_t row = 0; row < (metadata_.empty() ? 0 : problem_.batch * problem_.m); ++row)
      copy(problem_.metadata, metadata_.data(), row, order, kept);
    for (std::uint64_t matrix = 0; matrix < problem_.batch; ++matrix)
      copy(problem_.b, b_.data(), matrix, order, of_b_ * problem_.n);
    problem_of_order_ = problem_;
    problem_of_order_.a = a_.data(), problem_of_order_.b = b_.data();
    if (!metadata_.empty()) problem_of_order_.metadata = metadata_.data();
    return problem_of_order_;
  }

 private:
  static void copy(const void* from, void* to, std::uint64_t row, const std::vector<std::uint64_t>& order,
                   std::size_t bytes) {
    const std::byte* source = static_cast<const std::byte*>(from) + row * order.size() * bytes;
    std::byte* target = static_cast<std::byte*>(to) + row * order.size() * bytes;
    for (const std::uint64_t each : order) std::memcpy(target, source + each * bytes, bytes), target += bytes;
  }

  const Matmul& problem_;
  Sparsity sparsity_;
  int run_;                  ///< groups that change places with one another
  std::size_t of_a_, of_b_;  ///< bytes of a group in a row of A, in a column of B
  std::uint64_t groups_;
  std::vector<std::byte> a_, b_;
  std::vector<std::uint8_t> metadata_;
  Matmul problem_of_order_;
  Draws draws_{1};
};

/// What is measured of a D as a whole, over the elements that another order may change.
struct Means {
  double exact = 0;             ///< elements with the model's bits
  double away = 0;              ///< mean of (D - model) / unit, away from zero
  double size = 0;              ///< logarithm of the mean of |D - exact| / unit
  std::vector<double> changed;  ///< exact values of elements unlike the model's
};

class Comparison {
 public:
  Comparison(const FormatSpec& d, const GemmTolerance& tolerance, const std::vector<std::byte>& model)
      : d_(d), tolerance_(tolerance), model_(model) {}

  [[nodiscard]] double model(std::uint64_t e) const { return value(model_.data(), e); }
  [[nodiscard]] double value(const void* of, std::uint64_t e) const {
    return decode_value(load_word(of, d_.storage_bytes(), e), d_);
  }
  [[nodiscard]] Means means(const void* of) const {
    Means out;
    double count = 0;
    for (std::uint64_t e = 0; e < tolerance_.exact.size(); ++e) {
      const double found = value(of, e), expected = model(e), exact = tolerance_.exact[e];
      out.exact += same(found, expected) ? 1 : 0;
      const double unit = std::sqrt(tolerance_.reach_square[e]);
      if (!(unit > 0) || !std::isfinite(found - expected)) continue;
      ++count;
      out.away += std::copysign(1.0, exact) * (found - expected) / unit;
      out.size += std::fabs(found - exact) / unit;
      if (found != expected) out.changed.push_back(exact);
    }
    out.away /= std::max(count, 1.0), out.size = std::log(out.size / std::max(count, 1.0));
    return out;
  }

 private:
  const FormatSpec& d_;
  const GemmTolerance& tolerance_;
  const std::vector<std::byte>& model_;
};

/// Elements that repeat another are no evidence of their own.
std::uint64_t distinct(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return static_cast<std::uint64_t>(std::unique(values.begin(), values.end()) - values.begin());
}

/// Where one more value of the kind of `drawn` lies, but for a chance `alarm`.
struct Range {
  double middle, reach;
};
/// Student's t: of n + 1 normal numbers one is further than t s sqrt(1 + 1/n) from the mean of the others
/// with a chance of at most (1 + t^2 / (n - 1))^(-(n - 1) / 2), the cap of a sphere.
Range range_of(const std::array<double, kOrders>& drawn, double alarm) {
  const double count = kOrders, free = count - 1;
  const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / count;
  double square = 0;
  for (const double each : drawn) square += (each - mean) * (each - mean);
  const double t = std::sqrt(free * (std::pow(alarm, -2 / free) - 1));
  return {mean, t * std::sqrt(square / free * (1 + 1 / count))};
}

}  // namespace

bool GemmCloseness::close() const {
  if (elements == 0) return false;
  if (bit_exact == elements) return true;
  return beyond == 0 && !follows && std::fabs(drift) <= drift_limit && spread <= spread_limit &&
         spread * spread_limit >= 1;
}

GemmCloseness check_gemm_close(const Instruction& instruction, const Datapath& datapath,
                               const Matmul& problem, const ClosenessOptions& options) {
  const FormatSpec d = output_of(instruction, problem);
  const std::uint64_t bytes = d.storage_bytes();
  GemmCloseness out;
  out.elements = problem.batch * problem.m * problem.n;
  out.drift_limit = out.spread_limit = kInfinite;
  std::vector<std::byte> model(out.elements * bytes), other(model.size());
  const auto run = [&](Matmul work, std::vector<std::byte>& to) {
    work.d = to.data();
    matmul(instruction, datapath, work, {.threads = options.threads, .level = {}, .progress = {}});
  };
  run(problem, model);
  const auto is_exact = [&](std::uint64_t e) {
    const std::uint64_t found = load_word(problem.d, bytes, e), expected = load_word(model.data(), bytes, e);
    return found == expected || same(decode_value(found, d), decode_value(expected, d));
  };
  for (std::uint64_t e = 0; e < out.elements; ++e) out.bit_exact += is_exact(e) ? 1 : 0;
  if (out.bit_exact == out.elements) return out;

  const GemmTolerance tolerance = gemm_tolerance(instruction, datapath, problem, options.threads);
  const Comparison comparison(d, tolerance, model);
  const double share = options.false_alarm / kTests;
  // Hoeffding: what two orders change in one instruction is independent of the other instructions.
  const double deviations = std::sqrt(2 * std::log(2 * static_cast<double>(out.elements) / share));
  double worst = 0;
  for (std::uint64_t e = 0; e < out.elements; ++e) {
    const double reach = tolerance.reach[e];
    if (is_exact(e)) continue;
    const double found = comparison.value(problem.d, e), expected = comparison.model(e),
                 exact = tolerance.exact[e];
    const double limit = std::min(reach, deviations * std::sqrt(tolerance.reach_square[e]));
    const double apart = std::fabs(found - expected);
    // An order that may overflow gives anything.
    const bool good =
        std::isinf(reach) || (apart <= limit && !(std::fabs(found - exact) > tolerance.bound[e]));
    out.beyond += good ? 0 : 1;
    const double of_limit = good                           ? (std::isinf(reach) ? 0 : apart / limit)
                            : std::isfinite(apart / limit) ? 1 + apart / limit
                                                           : kInfinite;
    if (of_limit < worst || (of_limit == worst && worst != 0)) continue;
    worst = of_limit;
    out.worst_column = e % problem.n;
    out.worst_row = e / problem.n % problem.m;
    out.worst_matrix = e / problem.n / problem.m;
    out.worst_exact = exact, out.worst_found = found, out.worst_model = expected, out.worst_limit = limit;
  }
  if (out.beyond != 0) {  // follows then decides nothing: it is a hint
    out.follows = 2 * out.bit_exact > out.elements;
    return out;
  }
  const Means found = comparison.means(problem.d);
  std::array<double, kOrders> exact{}, away{}, size{};
  OtherOrders orders(instruction, problem);
  for (std::size_t r = 0; r < kOrders; ++r) {
    run(orders.next(), other);
    Means means = comparison.means(other.data());
    if (distinct(means.changed) < kLeast) return out;
    exact[r] = means.exact, away[r] = means.away, size[r] = means.size;
  }
  const Range of_exact = range_of(exact, share), of_away = range_of(away, share),
              of_size = range_of(size, share);
  out.follows = found.exact > of_exact.middle + of_exact.reach;
  out.drift = found.away - of_away.middle, out.drift_limit = of_away.reach;
  out.spread = std::exp(found.size - of_size.middle), out.spread_limit = std::exp(of_size.reach);
  return out;
}

std::string GemmCloseness::explanation() const {
  std::ostringstream out;
  out.precision(6);
  if (elements == 0) return "D has no element: nothing was compared";
  out << bit_exact << " of " << elements << " elements have the model's bits";
  if (bit_exact == elements) return out.str();
  if (beyond != 0)
    out << "; " << beyond
        << " are further off than another order inside the instructions allows: wrong elements, "
        << "another promotion, split or rounding";
  if (follows)
    out << "; so many that D follows the model's order, and the other " << elements - bit_exact
        << " are wrong";
  if (std::fabs(drift) > drift_limit)
    out << "; the mean error is " << drift
        << " deviations from what other orders give, away from zero (chance: at most " << drift_limit
        << "): another promotion, split or rounding";
  if (spread > spread_limit || spread * spread_limit < 1)
    out << "; errors are " << spread << " times as large as in other orders (chance: " << 1 / spread_limit
        << " to " << spread_limit << "): another promotion, split or rounding";
  out << "; worst (" << worst_matrix << ", " << worst_row << ", " << worst_column << "): " << worst_found
      << ", model " << worst_model << ", exact " << worst_exact << ", limit " << worst_limit;
  return out.str();
}

}  // namespace mmaudit
