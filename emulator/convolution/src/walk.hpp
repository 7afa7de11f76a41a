#pragma once
// One walk over tiles, runs, blocks of channels and places, for every memory that lanes can be in.
#include <algorithm>

#include "operands.hpp"

namespace mmaudit::conv {

/// One instruction: the place of the filter and the first of its channels.
struct Step {
  int r = 0, s = 0, channel = 0;
};

/// What: the convolution in a memory of `Memory::kTiles` tiles that go through each step together. Memory
/// has: start(), load(tile, lane, pixel, channel), shift(down), multiply(step, masked, ashift), with masked
/// per tile and lane, and d(tile, lane, filter). `ashift`: where one shift is due, the instruction does it.
template <typename Memory>
Result walk(const Problem& problem, const Algorithm& algorithm, int lanes, bool ashift, Memory& memory) {
  const Shape& shape = problem.shape;
  const int k = problem.instruction.k, positions = shape.positions();
  const std::vector<Run> runs = runs_of(shape);
  Result result;
  result.d.resize(shape.outputs());
  for (int begin = 0; begin < positions; begin += Memory::kTiles * lanes) {
    memory.start();
    std::vector<int> used;
    for (int first = begin; first < std::min(positions, begin + Memory::kTiles * lanes); first += lanes)
      used.push_back(std::min(lanes, positions - first));
    for (const Run& run : runs) {
      std::vector<std::vector<Place>> tiles;
      for (std::size_t tile = 0; tile < used.size(); ++tile)
        tiles.push_back(
            schedule_of(shape, run, algorithm, begin + static_cast<int>(tile) * lanes, used[tile]));
      for (int block = 0; block < blocks_of(shape, k); ++block) {
        int pending = 0;  // shifts that the places so far ask for and memory has not done
        for (std::size_t j = 0; j < run.s.size(); ++j) {
          pending += tiles[0][j].shifts;
          const bool by_instruction = ashift && pending == 1;
          for (; !by_instruction && pending > 0; --pending, ++result.counts.shifts)
            memory.shift(algorithm.down);
          std::vector<std::vector<bool>> masked;
          for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
            const Place& place = tiles[tile][j];
            for (const Load& load : place.loads)
              memory.load(static_cast<int>(tile), load.lane + pending, load.pixel, block * k);
            result.counts.loads += place.loads.size();
            result.counts.reloads += static_cast<std::uint64_t>(place.reloads);
            result.counts.masked +=
                static_cast<std::uint64_t>(std::count(place.masked.begin(), place.masked.end(), true));
            masked.push_back(place.masked);
          }
          memory.multiply({run.r, run.s[j], block * k}, masked, by_instruction);
          ++result.counts.instructions;
        }
      }
    }
    for (std::size_t tile = 0; tile < used.size(); ++tile)
      for (int lane = 0; lane < used[tile]; ++lane)
        for (int filter = 0; filter < shape.filters; ++filter)
          result.d[place_of(shape, begin + static_cast<int>(tile) * lanes + lane) *
                       static_cast<std::size_t>(shape.filters) +
                   static_cast<std::size_t>(filter)] = memory.d(static_cast<int>(tile), lane, filter);
  }
  return result;
}

}  // namespace mmaudit::conv
