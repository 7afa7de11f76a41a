#pragma once
// One instruction: shape, formats, datapath. The rows themselves: instructions/, one file a family.
#include <cstdint>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit {

enum class Op : std::uint8_t { mma, wgmma, mma_sp, wgmma_sp, wmma, tcgen05 };

/// The warpgroup's form: A and B from shared memory, modifiers, one accumulator.
constexpr bool is_wgmma(Op op) { return op == Op::wgmma || op == Op::wgmma_sp; }
/// Half of A is zeros that are not stored: see sparse.hpp.
constexpr bool is_sparse(Op op) { return op == Op::mma_sp || op == Op::wgmma_sp; }

/// Which unit computes it. An architecture has one model a (datapath, output format).
enum class MatrixUnit : std::uint8_t {
  mma_884,  ///< mma.m8n8k4 of f16: a unit of its own on the GPUs that have it; later ones emulate the
            ///< instruction
  mma_f16,
  mma_tf32,
  mma_fp8,
  mma_f64,
  wgmma_f16,
  wgmma_tf32,
  wgmma_fp8,
  mma_i8,
  mma_i4,
  mma_b1,
  wgmma_i8,
  wgmma_b1,
  mma_f8f6f4,
  mma_mxf8f6f4,
  mma_mxf4,
  mma_mxf4nvf4,
  tcgen05_f16,
  tcgen05_tf32,
  tcgen05_f8f6f4,
  tcgen05_i8,
  tcgen05_mxf8f6f4,
  tcgen05_mxf4,
  tcgen05_mxf4nvf4,
  mma_sp_f16,  ///< sparse instructions: the units of the dense ones, with rows of their own because each is
               ///< known on its own
  mma_sp_tf32,
  mma_sp_fp8,
  mma_sp_i8,
  mma_sp_i4,
  wgmma_sp_f16,
  wgmma_sp_tf32,
  wgmma_sp_fp8,
  wgmma_sp_i8,
  wmma_f16,
  wmma_tf32,
  wmma_f64,
  wmma_i8,
  wmma_i4,
  wmma_b1
};

/// What stands for the product of two elements: of single bits, the count of a bit-wise operation.
enum class Multiply : std::uint8_t { product, xor_popc, and_popc };

/// The .kind of PTX, where an instruction has one.
enum class MmaKind : std::uint8_t { none, f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// D (m x n) = A (m x k) * B (k x n) + C (m x n). In the table, n = 0 stands for every n of wgmma, m = n = 0
/// for every shape of tcgen05. Of a sparse A the m x stored_k() elements that metadata places in it exist; k
/// is the depth of the whole. Block-scaled: every scale_block elements of k of a row of A share one scale,
/// and so do those of a column of B.
struct Instruction {
  Op op = Op::mma;
  std::int16_t m = 0, n = 0, k = 0;
  Format d = Format::none, a = Format::none, b = Format::none, c = Format::none;
  MatrixUnit unit = MatrixUnit::mma_f16;
  std::int16_t min_compute_capability = 0;  ///< ten times major plus minor
  bool satfinite = false;                   ///< clamps an integer D instead of wrapping it
  Multiply multiply = Multiply::product;
  MmaKind kind = MmaKind::none;
  Format scale = Format::none;   ///< of the scale bytes; none: there are none
  std::int16_t scale_block = 0;  ///< elements of k a scale; k / scale_block is PTX's scale_vec

  /// Elements of A that a row stores, and so products of one element of D.
  [[nodiscard]] constexpr int stored_k() const { return is_sparse(op) ? k / 2 : k; }

  constexpr bool operator==(const Instruction&) const = default;
};

/// Scales of one row of A, or one column of B.
constexpr int scales_of(const Instruction& inst) {
  return inst.scale_block == 0 ? 0 : inst.k / inst.scale_block;
}

inline constexpr int kWgmmaMinN = 8, kWgmmaMaxN = 256, kWgmmaStepN = 8;

}  // namespace mmaudit
