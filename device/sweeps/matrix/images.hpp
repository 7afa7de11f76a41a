#pragma once
// Operands as the timed kernels read them: images of registers and of shared memory, made on the host.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/device/wmma_operand.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::sweeps {

enum class Init : std::uint8_t { zero, random };

/// Row-major tiles of raw elements, as TileBatch has them.
struct Tiles {
  int count = 0;
  std::vector<std::byte> a, b, c;
  std::vector<std::uint8_t> metadata;  ///< (tiles, m, stored k), canonical; sparse instructions only
};

/// What: tiles of zeros, or of N(0, 1/4) drawn from a fixed seed (integers: every bit pattern alike). The
/// accumulators of FP16 stay finite over every run that is timed.
Tiles make_tiles(const Instruction& instruction, Init init, int count);

/// What: `tiles` row-major tiles as registers: register r of lane l at (tile, r, l). Registers have 64 bits
/// for elements of 64, else 32.
std::vector<std::byte> register_image(const FragmentMap& map, Format format,
                                      const std::vector<std::byte>& tiles, int count);

/// What: the metadata registers of selector 0, one a lane, tile after tile; what the instruction does not
/// read is 0, which names no valid group.
std::vector<std::byte> metadata_image(const Instruction& instruction, const Tiles& tiles);

/// What: `tiles` row-major tiles as wmma's loads and stores have them in memory, lines of rows or columns
/// (wmma_layout.hpp); what is between the lines is 0.
std::vector<std::byte> line_image(const Instruction& instruction, device::WmmaOperand operand,
                                  const std::vector<std::byte>& tiles, int count, bool column_major);

/// What: `tiles` row-major tiles, (mn, k) or with `rows_are_k` (k, mn), as shared_layout.hpp places them
/// K-major.
std::vector<std::byte> shared_image(Format format, const std::vector<std::byte>& tiles, int count, int rows,
                                    int cols, bool rows_are_k);

}  // namespace mmaudit::sweeps
