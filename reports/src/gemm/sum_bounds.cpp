// The a-priori bound of every element, from norms of pieces of rows of A and columns of B.
#include <algorithm>
#include <cmath>

#include "mmaudit/error_bound.hpp"
#include "model_sums.hpp"
#include "parallel.hpp"

namespace mmaudit::report {
namespace {

/// What is known of a piece of a lane.
struct Piece {
  double norm = 0;        ///< of the elements, 2-norm
  int exponent = -10000;  ///< largest that an element's (grouped: a scale's) field spells
};

std::uint64_t up(std::uint64_t x, std::uint64_t unit) { return (x + unit - 1) / unit; }

/// Pieces of `length` of k of every lane, (lanes, pieces). Element (lane, k) lies at lane * of_lane + k *
/// of_k.
std::vector<Piece> pieces_of(const ConvertedOperand& x, const GemmDtype& dtype, bool grouped,
                             std::uint64_t lanes, std::uint64_t depth, std::uint64_t of_lane,
                             std::uint64_t of_k, std::uint64_t length) {
  const FormatSpec element = spec_of(dtype.element), scale = spec_of(dtype.scale);
  const std::uint64_t pieces = up(depth, length);
  const std::uint64_t block = static_cast<std::uint64_t>(std::max(dtype.scale_block, 1)),
                      blocks = up(depth, block);
  std::vector<Piece> out(lanes * pieces);
  const auto scan = [&](std::uint64_t lane, std::uint64_t k) {
    Piece& piece = out[lane * pieces + k / length];
    const double value = x.values[lane * of_lane + k * of_k];
    int of_scale = 0;
    if (!x.scales.empty()) {
      const double by = decode_value(x.scales[lane * blocks + k / block], scale);
      if (by == 0) return;
      of_scale = std::max(std::ilogb(by), scale.min_exponent());
      if (grouped) piece.exponent = std::max(piece.exponent, of_scale);
    }
    if (value == 0 || !std::isfinite(value)) return;
    piece.norm += value * value;
    if (grouped) return;
    // A subnormal keeps the least exponent; one that the row widens or normalises has a lower one.
    const double by = x.scales.empty() ? 1.0 : decode_value(x.scales[lane * blocks + k / block], scale);
    const int own = std::max(std::ilogb(value / by), element.min_exponent());
    piece.exponent = std::max(piece.exponent, own + of_scale);
  };
  if (of_lane == 1) {
    for (std::uint64_t k = 0; k < depth; ++k)
      for (std::uint64_t lane = 0; lane < lanes; ++lane) scan(lane, k);
  } else {
    for (std::uint64_t lane = 0; lane < lanes; ++lane)
      for (std::uint64_t k = 0; k < depth; ++k) scan(lane, k);
  }
  // Rounding of the sum of squares and of the root.
  for (Piece& piece : out) piece.norm = std::sqrt(piece.norm) * (1 + 0x1p-30);
  return out;
}

/// How K falls into chains (that start from +0) and these into pieces.
struct Division {
  std::uint64_t piece = 0;            ///< k of a piece
  std::uint64_t pieces_of_chain = 0;  ///< the last may be shorter
  std::uint64_t instructions = 0;     ///< of a piece
  bool totals = false;                ///< the chains' sums are added in binary32
};

Division division_of(const GemmCombination& c, const GemmPath& path, std::uint64_t k) {
  constexpr std::uint64_t kPieces = 16;  // a running sum is bounded piece by piece: more is closer
  const auto depth = static_cast<std::uint64_t>(path.instruction.k);
  Division out;
  const std::uint64_t slice = up(up(k, depth), c.accumulation.split_k) * depth;
  const std::uint64_t chain = c.accumulation.promote != 0 ? c.accumulation.promote : std::max(slice, depth);
  out.instructions = c.accumulation.promote != 0 ? chain / depth : up(chain / depth, kPieces);
  out.piece = out.instructions * depth;
  out.pieces_of_chain = up(chain, out.piece);
  out.totals = c.accumulation.promote != 0 || c.accumulation.split_k > 1;
  return out;
}

}  // namespace

std::vector<double> sum_bounds(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                               const GemmMeans& means) {
  const DotPlan plan = make_plan(path.instruction, path.row->model);
  if (!why_no_error_bound(plan).empty()) return {};
  const Division division = division_of(c, path, x.k);
  // A chain of a split need not end where a piece of another starts: pieces are of the chain's own length.
  const auto depth = static_cast<std::uint64_t>(path.instruction.k);
  const std::uint64_t slice = up(up(x.k, depth), c.accumulation.split_k) * depth;
  const bool aligned =
      c.accumulation.promote != 0 || slice % division.piece == 0 || c.accumulation.split_k == 1;
  const std::uint64_t length = aligned ? division.piece : depth;
  const std::uint64_t instructions = length / depth;
  const std::uint64_t of_chain = aligned ? division.pieces_of_chain : slice / depth;
  const std::uint64_t pieces = up(x.k, length);
  const std::vector<Piece> a = pieces_of(x.a, x.dtype, plan.grouped, x.m, x.k, x.k, 1, length);
  const std::vector<Piece> b = pieces_of(x.b, x.dtype, plan.grouped, x.n, x.k, 1, x.n, length);
  const bool blocks = c.scaling == Scaling::blocks;
  const bool truncates =
      plan.row.output.rounding == Rounding::toward_zero && !c_is_added_last(plan.row);
  std::vector<double> out(x.m * x.n);
  parallel_for(x.m, means.threads, [&](std::uint64_t i) {
    for (std::uint64_t j = 0; j < x.n; ++j) {
      double bound = 0, total = 0, running = 0, of_this = 0;
      for (std::uint64_t p = 0; p < pieces; ++p) {
        const Piece &left = a[i * pieces + p], &right = b[j * pieces + p];
        running += left.norm * right.norm;
        // Truncation only makes sums smaller; roundings to nearest may have made this one larger.
        const double largest = truncates ? running : running + of_this;
        of_this += chain_error_bound(plan, instructions, {largest, left.exponent + right.exponent});
        if ((p + 1) % of_chain != 0 && p + 1 != pieces) continue;
        double factor = 1;
        if (blocks) {
          const std::uint64_t block = p * length / kScaleBlock;
          factor = static_cast<double>(x.a.factor(i, block)) * static_cast<double>(x.b.factor(j, block));
        }
        bound += factor * of_this;
        total += factor * (running + of_this);
        // fl32(scale * scale) is off by half a unit, and so is every addition.
        if (blocks) bound += 0x1p-24 * factor * (running + of_this);
        if (division.totals) bound += total_error_bound(total + bound);
        running = of_this = 0;
      }
      out[i * x.n + j] = bound;
    }
  });
  return out;
}

}  // namespace mmaudit::report
