// The a-priori bound of every element, from norms of pieces of rows of A and columns of B.
#include <algorithm>
#include <cmath>

#include "every_width.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/error_bound.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

/// Of consecutive k of every lane (rows of A, columns of B): (runs, lanes).
struct Norms {
  std::vector<double> norm;            ///< of the elements, 2-norm
  std::vector<std::int64_t> exponent;  ///< largest exponent among them
};

using detail::quotient_up;

/// How K falls into chains, which start from +0, and these into runs. A running sum is bounded run by run.
struct Division {
  std::uint64_t chain = 0, run = 0;  ///< k; the last of each may be shorter
  bool totals = false;               ///< the chains' sums are added in binary32
};

Division division_of(const Accumulation& how, std::uint64_t depth, std::uint64_t k) {
  constexpr std::uint64_t kRuns = 16;  // of a chain: more is closer
  Division out;
  const std::uint64_t slice =
      std::max<std::uint64_t>(quotient_up(quotient_up(k, depth), how.split_k), 1) * depth;
  out.chain = how.promote != 0 ? how.promote : slice;
  out.run = std::max(quotient_up(out.chain / depth, kRuns), quotient_up(kPiece, depth)) * depth;
  out.totals = how.promote != 0 || how.split_k > 1;
  return out;
}

/// Consecutive k of every lane whose norms are known.
struct Run {
  std::uint64_t first = 0, last = 0;  ///< k
  bool ends = false;                  ///< its chain
};

/// All of them, in order.
std::vector<Run> runs_of(const Division& division, std::uint64_t k) {
  std::vector<Run> out;
  for (std::uint64_t chain = 0; chain < k; chain += division.chain) {
    const std::uint64_t end = std::min(k, chain + division.chain);
    for (std::uint64_t run = chain; run < end; run += division.run)
      out.push_back({run, std::min(end, run + division.run), run + division.run >= end});
  }
  return out;
}

/// A piece that lies in two runs counts in both.
Norms norms_of(const ConvertedOperand& x, bool grouped, std::uint64_t lanes, std::uint64_t k,
               const std::vector<Run>& runs) {
  const std::uint64_t pieces = quotient_up(k, kPiece);
  Norms out;
  for (const Run& run : runs) {
    for (std::uint64_t lane = 0; lane < lanes; ++lane) {
      double squares = 0;
      int exponent = SumFacts{}.largest_exponent;
      for (std::uint64_t p = run.first / kPiece; p < quotient_up(run.last, kPiece); ++p) {
        const LanePiece& piece = x.pieces[lane * pieces + p];
        squares += piece.squares;
        exponent = std::max(exponent, grouped ? piece.scale : piece.element);
      }
      out.norm.push_back(std::sqrt(squares) * (1 + 0x1p-30));  // the rounding of the squares and the root
      out.exponent.push_back(exponent);
    }
  }
  return out;
}

constexpr std::uint64_t kColumns = 256;  // whose sums stay in the first cache

/// Of one row and neighbouring columns.
struct Sums {
  double running[kColumns] = {}, of_chain[kColumns] = {};  ///< magnitudes and bound of the chain so far
  double total[kColumns] = {}, bound[kColumns] = {};       ///< of the chains that ended
};

/// One run of a chain. `shrinks`: no rounding makes a running sum larger than its addends.
MMAUDIT_EVERY_WIDTH void add_run(const ChainErrorBound::OfLength bound_of, bool shrinks, double norm,
                                 std::int64_t exponent, const double* norms, const std::int64_t* exponents,
                                 std::uint64_t columns, Sums& sums) {
  for (std::uint64_t j = 0; j < columns; ++j) {
    const double running = sums.running[j] + norm * norms[j], so_far = sums.of_chain[j];
    sums.running[j] = running;
    sums.of_chain[j] = so_far + bound_of(shrinks ? running : running + so_far, exponent + exponents[j]);
  }
}

/// The end of a chain, whose sum is multiplied by `factors` and may be put on a total.
MMAUDIT_EVERY_WIDTH void end_chain(const double* factors, bool scaled, bool totals, std::uint64_t columns,
                                   Sums& sums) {
  for (std::uint64_t j = 0; j < columns; ++j) {
    const double magnitude = factors[j] * (sums.running[j] + sums.of_chain[j]);
    const double total = sums.total[j] + magnitude;
    double bound = sums.bound[j] + factors[j] * sums.of_chain[j];
    // fl32(scale * scale) is off by half a unit, and so is every addition.
    if (scaled) bound += 0x1p-24 * magnitude;
    if (totals) bound += total_error_bound(total + bound);
    sums.bound[j] = bound, sums.total[j] = total;
    sums.running[j] = sums.of_chain[j] = 0;
  }
}

}  // namespace

std::vector<double> sum_bounds(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                               const MatmulOptions& how) {
  const DotSpec spec = make_dot_spec(path.instruction, path.entry->datapath);
  if (!why_no_error_bound(spec).empty()) return {};
  const ChainErrorBound chain_bound(spec);
  const auto depth = static_cast<std::uint64_t>(path.instruction.k);
  const Division division = division_of(c.accumulation, depth, x.k);
  const std::vector<Run> runs = runs_of(division, x.k);
  const Norms a = norms_of(x.a, spec.grouped, x.m, x.k, runs),
              b = norms_of(x.b, spec.grouped, x.n, x.k, runs);
  std::vector<ChainErrorBound::OfLength> bounds;
  bounds.reserve(runs.size());
  for (const Run& run : runs)
    bounds.push_back(chain_bound.of_length(quotient_up(run.last - run.first, depth)));
  const bool blocks = c.scaling.along_k(), shrinks = chain_bound.only_shrinks();
  std::vector<double> out(x.m * x.n);
  const std::uint64_t across = quotient_up(x.n, kColumns);
  detail::parallel_for(x.m * across, how.threads, [&](std::uint64_t index) {
    const std::uint64_t i = index / across, first = index % across * kColumns,
                        columns = std::min(kColumns, x.n - first);
    Sums sums;
    double factors[kColumns];
    std::fill_n(factors, kColumns, 1.0);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      add_run(bounds[r], shrinks, a.norm[r * x.m + i], a.exponent[r * x.m + i], &b.norm[r * x.n + first],
              &b.exponent[r * x.n + first], columns, sums);
      if (!runs[r].ends) continue;
      const std::uint64_t block = blocks ? runs[r].first / c.scaling.a.k : 0;
      for (std::uint64_t j = 0; blocks && j < columns; ++j)
        factors[j] =
            static_cast<double>(x.a.factor(i, block)) * static_cast<double>(x.b.factor(first + j, block));
      end_chain(factors, blocks, division.totals, columns, sums);
    }
    std::copy_n(sums.bound, columns, &out[i * x.n + first]);
  });
  return out;
}

}  // namespace mmaudit::report
