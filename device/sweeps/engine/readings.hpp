#pragma once
// What a timed kernel wrote, read: stamps to a sample, results to counts of wrong elements.
#include <cstddef>
#include <cstdint>
#include <span>

#include "mmaudit/sweeps/bench_target.hpp"
#include "mmaudit/sweeps/timed_kernel.hpp"

namespace mmaudit::sweeps {

/// What: cycles per step (mean over blocks of first start to last stop), wall clock and clock held of one
/// run. `stamps`: `slots_per_block` of each block, block after block.
Sample sample_of(std::span<const Stamp> stamps, int slots_per_block, int steps, double event_seconds);

/// What: cycles of the block that took longest, one stamp per block. Range: 0 without blocks.
std::int64_t longest_block(std::span<const Stamp> stamps);

/// What: compares the result of each slot with the expected tiles; slot s of a block took tile s % tiles.
/// Adds to compared and differing, in elements of `width` bytes.
void compare_tiles(std::span<const std::byte> seen, int slots_per_block, std::span<const std::byte> expected,
                   std::size_t tile_bytes, std::size_t width, Measurement& out);

}  // namespace mmaudit::sweeps
