#pragma once
// One instruction: shape, formats, datapath. The rows themselves: instructions/, one file a family.
#include <cstdint>

#include "mmaudit/format.hpp"

namespace mmaudit {

enum class Op : std::uint8_t { mma, wgmma, wmma };

/// Which unit computes it. An architecture has one model a (datapath, output format).
enum class Datapath : std::uint8_t {
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
  wmma_f16,
  wmma_tf32,
  wmma_f64,
  wmma_i8,
  wmma_i4,
  wmma_b1
};

/// What stands for the product of two elements: of single bits, the count of a bit-wise operation.
enum class Multiply : std::uint8_t { product, xor_popc, and_popc };

/// D (m x n) = A (m x k) * B (k x n) + C (m x n). In the table, n = 0 stands for every n of wgmma.
struct Instruction {
  Op op = Op::mma;
  std::int16_t m = 0, n = 0, k = 0;
  Format d = Format::none, a = Format::none, b = Format::none, c = Format::none;
  Datapath path = Datapath::mma_f16;
  std::int16_t min_compute_capability = 0;  ///< ten times major plus minor
  bool satfinite = false;                   ///< clamps an integer D instead of wrapping it
  Multiply multiply = Multiply::product;

  constexpr bool operator==(const Instruction&) const = default;
};

inline constexpr int kWgmmaMinN = 8, kWgmmaMaxN = 256, kWgmmaStepN = 8;

}  // namespace mmaudit
