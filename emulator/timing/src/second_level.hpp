#pragma once
// Which share of A and B a product reads from memory: all blocks of the GPU, coarsely, with the second-level
// cache that they share.
#include <vector>

namespace mmaudit::timing {

struct CacheProblem {
  int columns = 1, rows = 1;      ///< of tiles of D; blocks start row by row
  int slots = 1;                  ///< blocks that run at once
  double tile_bytes = 0;          ///< of A, and of B, that a block reads
  double result_bytes = 0;        ///< of D that it writes
  double capacity = 0;            ///< bytes
  std::vector<double> durations;  ///< of the first blocks of a multiprocessor,
                                  ///< in the order of their start
  double later = 1;               ///< of every later block

  [[nodiscard]] double all_bytes() const {
    return (columns + rows) * tile_bytes + static_cast<double>(columns) * rows * result_bytes;
  }
};

/// Shares that the cache does not have.
struct CacheMisses {
  double a = 0, b = 0;
};

/// What: misses of a product that is done again and again. Blocks read their tiles along k at a steady pace;
/// the cache forgets what was used longest ago.
CacheMisses cache_misses(const CacheProblem& problem);

}  // namespace mmaudit::timing
