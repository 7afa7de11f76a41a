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
constexpr int kMostDraws = 128;        // of an order in one instruction
constexpr double kTests = 4;           // elements, order, drift and spread share the false alarms
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool same(double found, double model) { return found == model || (std::isnan(found) && std::isnan(model)); }

/// Rows of groups of `bytes` each, with the groups of every row in this order.
std::vector<std::byte> reordered(const void* rows, std::uint64_t count,
                                 const std::vector<std::uint64_t>& order, std::size_t bytes) {
  std::vector<std::byte> out(count * order.size() * bytes);
  const auto* from = static_cast<const std::byte*>(rows);
  std::byte* to = out.data();
  for (std::uint64_t row = 0; row < count; ++row, from += order.size() * bytes)
    for (const std::uint64_t group : order) std::memcpy(to, from + group * bytes, bytes), to += bytes;
  return out;
}

/// Elements of k that may be in any order: an instruction's, or a scale block's in it.
std::uint64_t run_of(const Instruction& instruction) {
  return static_cast<std::uint64_t>(
      instruction.scale_block == 0 ? instruction.k : std::min(instruction.k, instruction.scale_block));
}

/// Calls use(problem) with copies of the operands whose products are in a random order inside every run, or
/// inside one that is drawn; groups of a sparse A keep together.
template <typename Use>
void with_another_order(const Instruction& instruction, const Matmul& problem, bool everywhere, Draws& draws,
                        const Use& use) {
  const Sparsity sparsity = sparsity_of(instruction);
  const auto group = static_cast<std::uint64_t>(sparsity.group),
             kept = static_cast<std::uint64_t>(sparsity.kept);
  const std::uint64_t run = run_of(instruction) / group;
  std::vector<std::uint64_t> order(problem.k / group);
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t first = everywhere ? 0 : draws.below(detail::quotient_up(order.size(), run)) * run,
                      last = everywhere ? order.size() : std::min(order.size(), first + run);
  for (std::uint64_t at = first; at < last; ++at)
    std::swap(order[at], order[at + draws.below(std::min(last, (at / run + 1) * run) - at)]);
  const std::uint64_t rows = problem.batch * problem.m;
  const auto a = reordered(problem.a, rows, order, kept * spec_of(instruction.a).storage_bytes());
  const auto b =
      reordered(problem.b, problem.batch, order, group * problem.n * spec_of(instruction.b).storage_bytes());
  const auto metadata = reordered(problem.metadata, problem.metadata == nullptr ? 0 : rows, order, kept);
  Matmul other = problem;
  other.a = a.data(), other.b = b.data();
  if (!metadata.empty()) other.metadata = reinterpret_cast<const std::uint8_t*>(metadata.data());
  use(other);
}

/// What is measured of a D as a whole.
struct Means {
  double exact = 0;             ///< elements with the model's bits
  double away = 0;              ///< mean of (D - model) / sqrt(reach_square), away from zero
  double size = 0;              ///< logarithm of the mean of |D - exact| / sqrt(reach_square)
  std::vector<double> changed;  ///< exact values of elements unlike the model's
};

Means means_of(const std::vector<double>& d, const std::vector<double>& model,
               const GemmTolerance& tolerance) {
  Means out;
  double count = 0;
  for (std::size_t e = 0; e < d.size(); ++e) {
    out.exact += same(d[e], model[e]) ? 1 : 0;
    const double unit = std::sqrt(tolerance.reach_square[e]), exact = tolerance.exact[e];
    if (!(unit > 0) || !std::isfinite(d[e] - model[e]))
      continue;  // no order changes it, or an order overflows
    ++count;
    out.away += std::copysign(1.0, exact) * (d[e] - model[e]) / unit;
    out.size += std::fabs(d[e] - exact) / unit;
    if (d[e] != model[e]) out.changed.push_back(exact);
  }
  out.away /= std::max(count, 1.0), out.size = std::log(out.size / std::max(count, 1.0));
  return out;
}

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
  const FormatSpec format = output_of(instruction, problem);
  GemmCloseness out;
  out.elements = problem.batch * problem.m * problem.n;
  out.drift_limit = out.spread_limit = kInfinite;
  std::vector<std::byte> bits(out.elements * format.storage_bytes());
  const auto numbers = [&](const void* of) {
    std::vector<double> values(bits.size() / format.storage_bytes());
    for (std::uint64_t e = 0; e < values.size(); ++e)
      values[e] = decode_value(load_word(of, format.storage_bytes(), e), format);
    return values;
  };
  const auto product = [&](Matmul work) {
    work.d = bits.data();
    matmul(instruction, datapath, work, {.threads = options.threads, .level = {}, .progress = {}});
    return numbers(bits.data());
  };
  const std::vector<double> d = numbers(problem.d), model = product(problem);
  for (std::uint64_t e = 0; e < out.elements; ++e) out.bit_exact += same(d[e], model[e]) ? 1 : 0;
  if (out.bit_exact == out.elements) return out;

  const GemmTolerance tolerance = gemm_tolerance(instruction, datapath, problem, options.threads);
  const double share = options.false_alarm / kTests;
  // Hoeffding: the parts of reach are independent, as often up as down.
  const double deviations = std::sqrt(2 * std::log(2 * static_cast<double>(d.size()) / share));
  double worst = 0;
  for (std::uint64_t e = 0; e < d.size(); ++e) {
    if (same(d[e], model[e])) continue;
    const double exact = tolerance.exact[e];
    const double limit = std::min(tolerance.reach[e], deviations * std::sqrt(tolerance.reach_square[e]));
    const double apart = std::fabs(d[e] - model[e]);
    if (std::isinf(tolerance.bound[e]) &&
        !std::isfinite(apart)) {  // an order may overflow where another does not
      --out.elements;
      continue;
    }
    const bool good = apart <= limit && !(std::fabs(d[e] - exact) > tolerance.bound[e]);
    out.beyond += good ? 0 : 1;
    const double of_limit = good                           ? apart / limit
                            : std::isfinite(apart / limit) ? 1 + apart / limit
                                                           : kInfinite;
    if (of_limit < worst || (of_limit == worst && worst != 0)) continue;
    worst = of_limit;
    out.worst_column = e % problem.n;
    out.worst_row = e / problem.n % problem.m;
    out.worst_matrix = e / problem.n / problem.m;
    out.worst_exact = exact, out.worst_found = d[e], out.worst_model = model[e], out.worst_limit = limit;
  }
  if (out.beyond != 0) {  // follows then decides nothing: it is a hint
    out.follows = 2 * out.bit_exact > out.elements;
    return out;
  }
  const Means found = means_of(d, model, tolerance);
  std::array<double, kOrders> exact{}, away{}, size{};
  Draws draws;
  const auto drawn = [&](bool everywhere) {
    Means means;
    with_another_order(instruction, problem, everywhere, draws,
                       [&](const Matmul& other) { means = means_of(product(other), model, tolerance); });
    return means;
  };
  for (std::size_t r = 0; r < kOrders; ++r) {
    Means means = drawn(true);
    if (distinct(means.changed) < kLeast) return out;
    exact[r] = means.exact, away[r] = means.away, size[r] = means.size;
  }
  const Range of_exact = range_of(exact, share), of_away = range_of(away, share),
              of_size = range_of(size, share);
  out.follows = found.exact > of_exact.middle + of_exact.reach;
  // An order that changes every instruction changes at least what it changes in one of them: it changes less
  // than r draws of one instruction only where each of its n instructions does, one of the ways to rank n +
  // r.
  const auto instructions = static_cast<double>(detail::quotient_up(problem.k, run_of(instruction)));
  const auto all = static_cast<double>(d.size());
  double chance = 1;
  for (int r = 1; out.follows && chance > share; ++r) {
    chance *= r / (instructions + r);
    out.follows = r <= kMostDraws && 4 * (all - found.exact) < all - drawn(false).exact;
  }
  out.drift = found.away - of_away.middle, out.drift_limit = of_away.reach;
  out.spread = std::exp(found.size - of_size.middle), out.spread_limit = std::exp(of_size.reach);
  return out;
}

std::string GemmCloseness::explanation() const {
  std::ostringstream out;
  out.precision(6);
  if (elements == 0) return "D has no element that can be judged: nothing was compared";
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
    out << "; the mean error is " << drift << " from what other orders give, away from zero (chance: at most "
        << drift_limit << "): another promotion, split or rounding";
  if (spread > spread_limit || spread * spread_limit < 1)
    out << "; errors are " << spread << " times as large as in other orders (chance: " << 1 / spread_limit
        << " to " << spread_limit << "): another promotion, split or rounding";
  out << "; worst (" << worst_matrix << ", " << worst_row << ", " << worst_column << "): " << worst_found
      << ", model " << worst_model << ", exact " << worst_exact << ", limit " << worst_limit;
  return out.str();
}

}  // namespace mmaudit
