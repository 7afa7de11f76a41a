#pragma once
// Over which numbers of rows M a row of D keeps its bits.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gemm/compare.hpp"

namespace mmaudit::checks {

/// Consecutive M in which the first rows of D have the same bits.
struct InvariantRange {
  std::uint64_t first = 0, last = 0;  ///< of M
  std::vector<std::string> plans;     ///< their plans in words, in the order of M, each once
  /// count_changes() against the range before.
  std::uint64_t elements = 0, differing = 0, worst_ulp = 0;
  bool predicted = true;  ///< the plans alone say the same bits, and that they differ from the range before
};

/// What pinning costs at one M.
struct PinnedCost {
  std::uint64_t m = 0;
  double pinned = 0, heuristic = 0;  ///< seconds of one product; 0: the library refuses it
};

struct InvariantResult {
  GemmProblem layer;  ///< its m means nothing
  std::vector<InvariantRange> ranges;
  std::vector<std::uint64_t> refused;  ///< M that the library refuses
  std::string why_refused;             ///< the last of them
  std::uint64_t tried = 0;             ///< M, the refused ones too
  std::uint64_t unknown = 0;           ///< M without a known plan
  std::uint64_t wrong = 0;             ///< elements of the rows compared that a known plan predicts wrongly
  double seconds = 0;                  ///< of all products on the GPU, each once
  std::string unproven;                ///< of why_unproven()
  std::vector<PinnedCost> costs;       ///< of a pinned algorithm: at the powers of two among the M
};

struct InvariantOptions {
  std::uint64_t seed = 1, pin = 0;   ///< the algorithm of this M for all; 0: the heuristic's for each
  std::vector<std::uint64_t> sizes;  ///< ascending M
  std::function<void(std::uint64_t)> progress;
};

/// What: elements of D, how many differ in a bit, and the largest difference in units of the last place, of
/// every element that differs, also where the exact sum is 0: numbers near 0 lie many units apart. Shapes:
/// both (rows, n) in storage width.
void count_changes(std::span<const std::byte> before, std::span<const std::byte> after,
                   const FormatSpec& format, InvariantRange& range);

/// What: runs the layer for every M, with the same B and the same first rows of A. `architecture`: of the
/// session's GPU. Workspace: the layer's.
InvariantResult invariant_ranges(device::LibrarySession& session, const Architecture& architecture,
                                 const GemmProblem& layer, const InvariantOptions& options);

/// Passed where every element that a known plan predicts is right, and there is one; not where the library
/// refuses every M. The result has to
/// outlive it.
report::Report report_of(const InvariantResult& result);

}  // namespace mmaudit::checks
