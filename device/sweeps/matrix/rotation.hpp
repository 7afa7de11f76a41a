#pragma once
// Operands that change at every step. Where a target has no instruction for a type, ptxas spells a product
// out and adds C last; with the same A and B at every step it then computes the product once, before the
// loop.
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::sweeps {

/// Tiles that a warp's steps go through: step i of the warp that begins at tile t takes A, B and metadata of
/// tile (t + i) % kRotation. C stays the warp's own.
inline constexpr int kRotation = 4;

/// True for the instructions that are timed so: FP8 of a warp, which no target before sm_120 has.
constexpr bool rotates(const Instruction& is) {
  return (is.op == Op::mma || is.op == Op::mma_sp) && (is.a == Format::e4m3 || is.a == Format::e5m2);
}

}  // namespace mmaudit::sweeps
