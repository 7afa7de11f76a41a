#pragma once
// How wmma's operands lie in memory, and how many registers a lane holds of each. Source: PTX ISA 9.0,
// "Matrix Fragments for WMMA" (counts; f16 A and B are always eight registers) and "wmma.load" (every line
// starts at a multiple of the fragment's size, at most 32 bytes).

#include "mmaudit/device/wmma_operand.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::device {

struct WmmaMatrix {
  int rows = 0, cols = 0, bits = 0;  ///< bits of an element in memory

  /// Bytes from line to line. A line is a row, or a column in a column-major matrix.
  [[nodiscard]] MMAUDIT_HD constexpr int pitch(bool column_major) const {
    constexpr int kAlign = 32;
    const int bytes = (column_major ? rows : cols) * bits / 8;
    return (bytes + kAlign - 1) / kAlign * kAlign;
  }
  [[nodiscard]] MMAUDIT_HD constexpr int bytes(bool column_major) const {
    return (column_major ? cols : rows) * pitch(column_major);
  }
  /// Room for either layout.
  [[nodiscard]] constexpr int most_bytes() const {
    return bytes(false) > bytes(true) ? bytes(false) : bytes(true);
  }
};

constexpr Format wmma_format(const Instruction& instruction, WmmaOperand operand) {
  const Format formats[] = {instruction.a, instruction.b, instruction.c, instruction.d};
  return formats[static_cast<int>(operand)];
}

constexpr WmmaMatrix wmma_matrix(const Instruction& instruction, WmmaOperand operand) {
  const int rows = operand == WmmaOperand::b ? instruction.k : instruction.m;
  const int cols = operand == WmmaOperand::a ? instruction.k : instruction.n;
  return {rows, cols, register_bits(wmma_format(instruction, operand))};
}

/// Registers of one lane: of 64 bits for f64, else of 32.
constexpr int wmma_registers(const Instruction& instruction, WmmaOperand operand) {
  const Format format = wmma_format(instruction, operand);
  if (format == Format::f16 && (operand == WmmaOperand::a || operand == WmmaOperand::b)) return 8;
  const WmmaMatrix matrix = wmma_matrix(instruction, operand);
  return matrix.rows * matrix.cols / kWarpLanes / elements_per_register(format);
}

/// Elements below a byte lie along k only: A in rows, B in columns.
constexpr bool wmma_any_layout(const Instruction& instruction) { return register_bits(instruction.a) >= 8; }

}  // namespace mmaudit::device
