#pragma once
// Squares of tiles: `side` tiles of A, of B and of C make side * side of D, so that what is generated counts
// side times. The model reads them by the fastest engine that serves the row. Declarations without CUDA
// syntax.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "mmaudit/dot.hpp"
#include "model/core_rules.hpp"

namespace mmaudit::device {

/// A difference between hardware and model.
struct Found {
  std::uint64_t element;  ///< of D: tile * m * n + row * n + column
  std::uint64_t model;    ///< raw bits
};

/// Device pointers. Tiles as square_indices() has them.
struct CrossedArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  const std::uint8_t* metadata = nullptr;
  const void* hardware = nullptr;
  std::uint32_t squares = 0, side = 0;
  std::int32_t m = 0, n = 0, k = 0, stored_k = 0;
  std::int32_t a_bytes = 0, b_bytes = 0, c_bytes = 0, d_bytes = 0;
  unsigned long long* total = nullptr;  ///< differences are added
  Found* found = nullptr;               ///< the first `most` of them
  std::uint32_t most = 0;
  std::uint64_t first_element = 0;  ///< added to what is found
};

/// Operands of the engine `fast`, unpacked (model/unpacked.hpp), a square a matrix.
struct CrossedWords {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
};

void launch_crossed_fast(const CoreRules& rules, const CrossedWords& words, const CrossedArgs& args);

/// A's rows and B's columns of all squares, (elements, packed_words()): every element a byte, single bits a
/// bit, depth padded with zeros.
struct CrossedPacked {
  std::uint32_t* a = nullptr;
  std::uint32_t* b = nullptr;
};
MMAUDIT_HD constexpr std::int32_t packed_words(bool single_bits, std::int32_t k) {
  return single_bits ? (k + 31) / 32 : (k + 3) / 4;
}
void launch_crossed_integer(const DotPlan& plan, const CrossedPacked& packed, const CrossedArgs& args);

/// By the GPU's own fused multiply-add; what gives a NaN, by the plain model.
void launch_crossed_binary64(const DotPlan& plan, const CrossedArgs& args);

/// Ordinary binary32 arithmetic with binary16 operands, by the GPU's own; what gives a NaN, by the plain
/// model.
void launch_crossed_binary32(const DotPlan& plan, const CrossedArgs& args);

/// By the plain model, whatever the row.
void launch_crossed_plain(const DotPlan& plan, const CrossedArgs& args);

}  // namespace mmaudit::device
