#pragma once
// Fragments of wmma, which the PTX ISA leaves unspecified, read off: wmma.load takes a matrix whose elements
// spell their own numbers into registers, wmma.store takes registers that spell theirs into memory.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/device/wmma_operand.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::device {

/// A slot is a value of a lane: lane * values + value. Values of one register are neighbours, low bits first.
struct WmmaFragment {
  static constexpr std::int32_t kNone = -1;

  int rows = 0, cols = 0, lanes = kWarpLanes, values = 0;
  std::vector<std::int32_t> element;  ///< by slot: row * cols + column; kNone: no element goes there

  bool operator==(const WmmaFragment&) const = default;
};

/// The slots that hold each element; 0 when that differs among the elements.
int multiplicity(const WmmaFragment& fragment);

/// Moves one operand: A, B and C from `image` (memory) to `registers` (lane by lane), D the other way.
using MoveFragment = std::function<void(std::span<std::uint8_t> image, std::span<std::uint8_t> registers)>;

/// What: the map that `move` shows. Range: any wmma; `column_major` is how the operand lies in memory. A slot
/// counts only when it holds one element's bit in every pattern and in its complement. Errors: InputError for
/// another instruction or a layout that it lacks; what `move` throws.
WmmaFragment read_wmma_fragment(const Instruction& instruction, WmmaOperand operand, bool column_major,
                                const MoveFragment& move);

/// What: one wmma.load or wmma.store by a warp of `device`. Shapes: as in read_wmma_fragment().
/// Errors: EnvironmentError as run().
void move_fragment(const DeviceInfo& device, const Instruction& instruction, WmmaOperand operand,
                   bool column_major, std::span<std::uint8_t> image, std::span<std::uint8_t> registers);

}  // namespace mmaudit::device
