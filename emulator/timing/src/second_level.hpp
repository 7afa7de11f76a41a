#pragma once
// What the trips of a product find in the second-level cache: all blocks of the GPU, trip by trip, coarsely.
#include <vector>

#include "mmaudit/timing/kernel.hpp"

namespace mmaudit::timing {

struct CacheProblem {
  int columns = 1, rows = 1;              ///< of tiles of D; blocks start row by row
  int multiprocessors = 1, resident = 1;  ///< blocks that one runs at once
  int steps = 1;                          ///< trips of a block: each reads a piece of A and one of B
  int ahead = 0;                          ///< a piece is asked for so many trips before it is used
  double piece_bytes = 0;                 ///< of A, and of B
  double result_bytes = 0;                ///< of D that a block writes
  double alone = 1, together = 1;  ///< cycles of a trip without misses: of one block; of `resident` ones
  double launch = 0;               ///< cycles from the end of a block to the begin of the next
  double hit_latency = 0, miss_latency = 0;  ///< until all of a piece is there
  double capacity = 0;                       ///< bytes that are all kept
  double memory_bytes = 1;                   ///< of memory, per cycle

  [[nodiscard]] double all_bytes() const {
    return (columns + rows) * piece_bytes * steps + static_cast<double>(columns) * rows * result_bytes;
  }
};

struct CacheTrips {
  std::vector<TripMemory> trips;  ///< of all trips a sample
  /// Shares of the trips, by operand: the bytes that come from memory because this block asks; no block has
  /// asked in the 32768 cycles before; another block has asked in the 512 cycles before.
  struct Shares {
    double missed = 0, far = 0, near = 0;
  };
  Shares a, b;
};

/// What: trips of a product that is done again and again. Of the blocks of a multiprocessor the one that
/// began first goes first; the others wait for it, not for its loads. A piece that memory was asked for is
/// waited for by whoever asks meanwhile. Source: docs/results/h100-loaded, inside.
CacheTrips cache_trips(const CacheProblem& problem);

}  // namespace mmaudit::timing
