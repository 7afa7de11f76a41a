#pragma once
// From what a timed kernel wrote to what it means: stamps to a sample, D to counts of wrong bits.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/sweeps/machine.hpp"
#include "sweeps/kernels/timed_kernel.hpp"

namespace mmaudit::sweeps {

/// What: cycles of a step (mean over blocks of first start to last stop), wall clock and clock held of one
/// run. `stamps`: `slots_per_block` of every block, block after block.
Sample sample_of(std::span<const Stamp> stamps, int slots_per_block, int steps, double event_seconds);

/// What: compares D of every slot with the expected tiles; slot s of a block took tile s % tiles. Adds to
/// compared and differing, in elements of `width` bytes.
void compare_tiles(std::span<const std::byte> seen, int slots_per_block, std::span<const std::byte> expected,
                   std::size_t tile_bytes, std::size_t width, Measurement& out);

/// What: compares kLoadWords words a lane, `subject.words` of them meant, with what the load or store of
/// `cell` must leave in every warp.
void compare_words(const Cell& cell, std::span<const std::byte> seen, Measurement& out);

}  // namespace mmaudit::sweeps
