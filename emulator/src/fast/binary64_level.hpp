#pragma once
// What the vector code for chains of binary64 is handed; see level.hpp.
#include <cstddef>

namespace mmaudit::fast {

/// Sums of rows times one panel of B, through a chunk of K in evaluation order.
struct Binary64Multiply {
  const double* a = nullptr;  ///< (rows, a_stride)
  std::size_t a_stride = 0;
  const double* b = nullptr;  ///< (depth, kPanel)
  int depth = 0;
  int rows = 0;           ///< a multiple of kRows
  double* sum = nullptr;  ///< (rows, sum_stride)
  std::size_t sum_stride = 0;
  /// The chunk of one element again, by the plain core: for a NaN, whose bits have rules.
  double (*plain)(const void* context, int row, int column, double sum) = nullptr;
  const void* context = nullptr;
  int column = 0;  ///< of the panel, for `plain`
};

}  // namespace mmaudit::fast
