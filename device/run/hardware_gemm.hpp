#pragma once
// Products of packed operands by chains of wgmma. Declarations without CUDA syntax.
#include <cstdint>

#include "mmaudit/model/instruction.hpp"
#include "mmaudit/scaled_matmul.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// K of a stage of shared memory: four instructions. Promotion is at multiples of it.
constexpr std::uint64_t chain_depth(const Instruction& instruction) {
  return 4 * static_cast<std::uint64_t>(instruction.k);
}

/// Device pointers. A is (batch, m, pitch), B (batch, n, pitch); elements beyond k are +0, and rows start at
/// multiples of 16 bytes.
struct ChainArgs {
  void* a = nullptr;
  void* b = nullptr;
  const float* c = nullptr;  ///< (batch, m, n), starts the chain, or the totals; null: +0
  float* d = nullptr;        ///< (batch, m, n)
  std::uint64_t batch = 1, m = 0, n = 0, k = 0;
  std::uint64_t pitch = 0;    ///< elements
  std::uint64_t promote = 0;  ///< k of a chain, whose sum is added to a total; 0: all of K
  ProductFactors factors;     ///< with blocks of k alone: total = fma(factor, sum, total)
};

/// The kernel's address where there is one for the instruction's formats; null: none.
const void* chain_kernel(const Instruction& instruction);
void launch_chains(const Instruction& instruction, const ChainArgs& args, Stream stream);

/// (rows, columns) elements of so many bytes, row-major and without gaps, become rows that are `pitch` long,
/// or, transposed, columns that are; what is beyond is +0.
void launch_pitched_copy(const void* from, void* to, std::uint64_t batch, std::uint64_t rows,
                         std::uint64_t columns, std::uint64_t pitch, int bytes, bool transposed,
                         Stream stream);

}  // namespace mmaudit::device
