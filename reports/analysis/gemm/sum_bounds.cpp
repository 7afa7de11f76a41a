// The a-priori bound of every element, from norms of pieces of rows of A and columns of B.
#include <algorithm>
#include <cmath>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/error_bound.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

/// Consecutive k of one lane (a row of A, a column of B).
struct Run {
  double norm = 0;        ///< of the elements, 2-norm
  int exponent = -10000;  ///< largest exponent among them
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

/// Calls visit(first k, last k, whether its chain ends there) for every run, in order.
template <typename Visit>
void for_each_run(const Division& division, std::uint64_t k, const Visit& visit) {
  for (std::uint64_t chain = 0; chain < k; chain += division.chain) {
    const std::uint64_t end = std::min(k, chain + division.chain);
    for (std::uint64_t run = chain; run < end; run += division.run) {
      const std::uint64_t last = std::min(end, run + division.run);
      visit(run, last, last == end);
    }
  }
}

/// (lanes, runs). A piece that lies in two runs counts in both.
std::vector<Run> runs_of(const ConvertedOperand& x, bool grouped, std::uint64_t lanes, std::uint64_t k,
                         const Division& division) {
  const std::uint64_t pieces = quotient_up(k, kPiece);
  std::vector<Run> out;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    for_each_run(division, k, [&](std::uint64_t first, std::uint64_t last, bool) {
      Run run;
      for (std::uint64_t p = first / kPiece; p < quotient_up(last, kPiece); ++p) {
        const LanePiece& piece = x.pieces[lane * pieces + p];
        run.norm += piece.squares;
        run.exponent = std::max(run.exponent, grouped ? piece.scale : piece.element);
      }
      run.norm = std::sqrt(run.norm) * (1 + 0x1p-30);  // the rounding of the squares and the root
      out.push_back(run);
    });
  }
  return out;
}

}  // namespace

std::vector<double> sum_bounds(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                               const MatmulOptions& how) {
  const DotPlan plan = make_plan(path.instruction, path.entry->datapath);
  if (!why_no_error_bound(plan).empty()) return {};
  const ChainErrorBound chain_bound(plan);
  const auto depth = static_cast<std::uint64_t>(path.instruction.k);
  const Division division = division_of(c.accumulation, depth, x.k);
  const std::vector<Run> a = runs_of(x.a, plan.grouped, x.m, x.k, division);
  const std::vector<Run> b = runs_of(x.b, plan.grouped, x.n, x.k, division);
  const std::uint64_t runs = x.m == 0 ? 0 : a.size() / x.m;
  const bool blocks = along_k(c.scaling), shrinks = chain_bound.only_shrinks();
  std::vector<double> out(x.m * x.n);
  detail::parallel_for(x.m, how.threads, [&](std::uint64_t i) {
    for (std::uint64_t j = 0; j < x.n; ++j) {
      const Run *left = a.data() + i * runs, *right = b.data() + j * runs;
      double bound = 0, total = 0, running = 0, of_chain = 0;
      for_each_run(division, x.k, [&](std::uint64_t first, std::uint64_t last, bool ends) {
        running += left->norm * right->norm;
        // Roundings to nearest may have made the running sum larger than its addends.
        of_chain += chain_bound(quotient_up(last - first, depth),
                                {shrinks ? running : running + of_chain, left->exponent + right->exponent});
        ++left, ++right;
        if (!ends) return;
        double factor = 1;
        if (blocks)
          factor = static_cast<double>(x.a.factor(i, first / kScaleBlock)) *
                   static_cast<double>(x.b.factor(j, first / kScaleBlock));
        bound += factor * of_chain;
        total += factor * (running + of_chain);
        // fl32(scale * scale) is off by half a unit, and so is every addition.
        if (blocks) bound += 0x1p-24 * factor * (running + of_chain);
        if (division.totals) bound += total_error_bound(total + bound);
        running = of_chain = 0;
      });
      out[i * x.n + j] = bound;
    }
  });
  return out;
}

}  // namespace mmaudit::report
