#pragma once
// What the vector code for integers and single bits is handed; see level.hpp.
#include <cstddef>
#include <cstdint>

namespace mmaudit::fast {

/// Sums of rows times one panel of B, through a chunk of K. A word of an operand is two 16-bit integers: the
/// elements of two k; of an exclusive or (a, 1 - a) of A and (1 - b, b) of B.
struct IntegerMultiply {
  const std::int32_t* a = nullptr;  ///< (rows, a_stride)
  std::size_t a_stride = 0;
  const std::int32_t* b = nullptr;  ///< (words, kPanel)
  int words = 0;
  int rows = 0;                  ///< a multiple of kRows
  std::uint32_t* sum = nullptr;  ///< (rows, sum_stride)
  std::size_t sum_stride = 0;
  bool clamps = false;  ///< to the range of 32 bits, once the chunk's products are added; else sums wrap
};

}  // namespace mmaudit::fast
