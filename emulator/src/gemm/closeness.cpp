// A D against matmul()'s by chance: what another order inside the chains may change, and no more.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/tolerance.hpp"

namespace mmaudit {
namespace {

constexpr std::uint64_t kLeast = 100;  // elements of which a mean or a spread says something
constexpr double kTests = 4;           // elements, order, drift and spread share the false alarms

/// A sum of independent uniform parts is further than this many deviations from its mean with at most this
/// probability, on either side (Chernoff; a uniform part's moments are below the normal distribution's).
double deviations_of(double probability) { return std::sqrt(2 * std::log(2 / probability)); }

bool same(double found, double model) { return found == model || (std::isnan(found) && std::isnan(model)); }

/// Sums over the elements whose errors are random.
struct Errors {
  std::uint64_t count = 0;
  double away = 0;              ///< of (D - model) / deviation, away from zero
  double found = 0, model = 0;  ///< of |D - exact| / deviation, and of the model's
  double chance = 0;            ///< elements that chance alone makes bit-exact, at most
  std::vector<double> values;   ///< exact ones
};

/// Elements that repeat another are no evidence of their own.
double distinct(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return static_cast<double>(std::unique(values.begin(), values.end()) - values.begin());
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
  const FormatSpec d = spec_of(instruction.d);
  const std::uint64_t count = problem.batch * problem.m * problem.n, bytes = d.storage_bytes();
  std::vector<std::byte> model(count * bytes);
  Matmul work = problem;
  work.d = model.data();
  matmul(instruction, datapath, work, {.threads = options.threads, .level = {}, .progress = {}});
  const GemmTolerance tolerance = gemm_tolerance(instruction, datapath, problem, options.threads);

  GemmCloseness out;
  Errors errors;
  const double share = options.false_alarm / kTests;
  // Two results of the same arithmetic are apart by sqrt(2) deviations.
  const double reach = std::sqrt(2.0) * deviations_of(share / std::max(1.0, static_cast<double>(count)));
  double worst = 0;
  for (std::uint64_t e = 0; e < count; ++e) {
    const double found = decode_value(load_word(problem.d, bytes, e), d);
    const double expected = decode_value(load_word(model.data(), bytes, e), d);
    const double exact = tolerance.exact[e], deviation = tolerance.deviation[e];
    ++out.elements;
    const bool equal = same(found, expected);
    out.bit_exact += equal ? 1 : 0;
    const double limit = reach * deviation, apart = std::fabs(found - expected);
    const bool random = std::isfinite(expected) && deviation > 0 && std::isfinite(exact);
    if (random) {
      ++errors.count;
      errors.chance += std::min(1.0, tolerance.spacing[e] / deviation);
      errors.values.push_back(exact);
      errors.away += std::copysign(1.0, exact) * (found - expected) / deviation;
      errors.found += std::fabs(found - exact) / deviation;
      errors.model += std::fabs(expected - exact) / deviation;
    } else {
      errors.chance += 1;
    }
    if (equal) continue;
    const bool good = random && apart <= limit && !(std::fabs(found - exact) > tolerance.bound[e]);
    out.beyond += good ? 0 : 1;
    const double of_limit = good                           ? apart / limit
                            : std::isfinite(apart / limit) ? 1 + apart / limit
                                                           : std::numeric_limits<double>::infinity();
    if (of_limit < worst || (of_limit == worst && worst != 0)) continue;
    worst = of_limit;
    out.worst_column = e % problem.n;
    out.worst_row = e / problem.n % problem.m;
    out.worst_matrix = e / problem.n / problem.m;
    out.worst_exact = exact, out.worst_found = found, out.worst_model = expected, out.worst_limit = limit;
  }

  const double independent = distinct(std::move(errors.values)), all = static_cast<double>(out.elements);
  out.drift_limit = out.spread_limit = std::numeric_limits<double>::infinity();
  if (independent < static_cast<double>(kLeast) || errors.model == 0) return out;
  const auto measured = static_cast<double>(errors.count);
  // Hoeffding: of independent elements, more than chance makes bit-exact.
  const double exact_share = static_cast<double>(out.bit_exact) / all;
  const double share_by_chance = errors.chance / all + std::sqrt(std::log(1 / share) / (2 * independent));
  out.follows = out.bit_exact < out.elements && exact_share > share_by_chance;
  out.drift = errors.away / measured;
  out.drift_limit = deviations_of(share) * std::sqrt(2 / independent);
  // The logarithm of a mean of magnitudes has a variance of (pi / 2 - 1) / n; there are two.
  out.spread = errors.found / errors.model;
  out.spread_limit = std::exp(deviations_of(share) * std::sqrt(1.15 / independent));
  return out;
}

std::string GemmCloseness::explanation() const {
  std::ostringstream out;
  out.precision(6);
  if (elements == 0) return "D has no element: nothing was compared";
  out << bit_exact << " of " << elements << " elements have the model's bits";
  if (bit_exact == elements) return out.str();
  if (beyond != 0) out << "; " << beyond << " are further off than chance allows";
  if (follows)
    out << "; so many that D follows the model's order, and the other " << elements - bit_exact
        << " are wrong";
  if (std::fabs(drift) > drift_limit)
    out << "; the mean error is " << drift << " deviations from the model's, away from zero (chance: at most "
        << drift_limit << "): another promotion, split or rounding";
  if (spread > spread_limit || spread * spread_limit < 1)
    out << "; errors are " << spread << " times as large as the model's (chance: " << 1 / spread_limit
        << " to " << spread_limit << "): another promotion, split or rounding";
  out << "; worst (" << worst_matrix << ", " << worst_row << ", " << worst_column << "): " << worst_found
      << ", model " << worst_model << ", exact " << worst_exact << ", limit " << worst_limit;
  return out.str();
}

}  // namespace mmaudit
