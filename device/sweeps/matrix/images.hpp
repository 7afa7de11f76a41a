#pragma once
// Operands as the timed kernels read them: images of registers and of shared memory, made on the host so that
// a kernel only copies them. Loading tiles through fragment maps would take registers from the timed loop.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/device/wmma_operand.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::sweeps {

enum class Init : std::uint8_t { zero, random };

/// What: tiles of zeros, or of N(0, 1/4) drawn from a fixed seed (integers: every bit pattern is as likely);
/// with drawn metadata where the instruction is sparse. Range: accumulators of FP16 stay finite over every
/// run that is timed.
TileBatch make_tiles(const Instruction& instruction, Init init, int count);

// Images of all tiles of one operand. `elements`: row-major, as a TileBatch has them.
using Bytes = std::vector<std::byte>;

/// Register r of lane l at (tile, r, l). Registers have 64 bits for elements of 64, else 32.
Bytes register_image(const FragmentMap& map, Format format, const Bytes& elements);

/// The metadata registers of selector 0, one per lane; a lane whose register the instruction does not read
/// has 0, which names no valid group.
Bytes metadata_image(const TileBatch& tiles);

/// As wmma's loads and stores have an operand in memory, lines of rows or columns (wmma_layout.hpp); between
/// the lines there is 0.
Bytes line_image(const Instruction& instruction, device::WmmaOperand operand, const Bytes& elements,
                 bool column_major);

/// Tiles of (mn, k), or with `rows_are_k` of (k, mn), as shared_layout.hpp places them K-major.
Bytes shared_image(Format format, const Bytes& elements, int rows, int cols, bool rows_are_k);

}  // namespace mmaudit::sweeps
