#include "sweeps/engine/readings.hpp"

#include <algorithm>
#include <cstring>

namespace mmaudit::sweeps {

Sample sample_of(std::span<const Stamp> stamps, int slots_per_block, int steps, double event_seconds) {
  double clocks = 0, clocks_timed = 0, nanoseconds = 0;
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  const auto each = static_cast<std::size_t>(slots_per_block);
  const std::size_t blocks = stamps.size() / each;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::span<const Stamp> slots = stamps.subspan(block * each, each);
    std::int64_t begin = slots.front().clock_begin, end = slots.front().clock_end;
    for (const Stamp& slot : slots) {
      begin = std::min(begin, slot.clock_begin);
      end = std::max(end, slot.clock_end);
      first = std::min(first, slot.time_begin);
      last = std::max(last, slot.time_end);
    }
    clocks += static_cast<double>(end - begin);
    // One warp's own pair of readings: the clock held needs no other.
    clocks_timed += static_cast<double>(slots.front().clock_end - slots.front().clock_enter);
    nanoseconds += static_cast<double>(slots.front().time_end - slots.front().time_begin);
  }
  return {.cycles = clocks / static_cast<double>(blocks) / steps,
          .event_seconds = event_seconds,
          .timer_seconds = 1e-9 * static_cast<double>(last - first),
          .hz = nanoseconds > 0 ? 1e9 * clocks_timed / nanoseconds : 0};
}

std::int64_t longest_block(std::span<const Stamp> stamps) {
  std::int64_t longest = 0;
  for (const Stamp& block : stamps) longest = std::max(longest, block.clock_end - block.clock_begin);
  return longest;
}

void compare_tiles(std::span<const std::byte> seen, int slots_per_block, std::span<const std::byte> expected,
                   std::size_t tile_bytes, std::size_t width, Measurement& out) {
  const std::size_t tiles = expected.size() / tile_bytes;
  for (std::size_t slot = 0; slot < seen.size() / tile_bytes; ++slot) {
    const std::size_t tile = slot % static_cast<std::size_t>(slots_per_block) % tiles;
    const std::byte* left = seen.data() + slot * tile_bytes;
    const std::byte* right = expected.data() + tile * tile_bytes;
    out.compared += tile_bytes / width;
    if (std::memcmp(left, right, tile_bytes) == 0) continue;
    for (std::size_t i = 0; i < tile_bytes; i += width)
      out.differing += std::memcmp(left + i, right + i, width) != 0 ? 1 : 0;
  }
}

}  // namespace mmaudit::sweeps
