#pragma once
// What the vector code for the elements of one operand is handed: rows of finite binary32 numbers that share
// a scale. Plain data and no inline code: it is compiled with the flags of several levels of instructions.
#include <cstddef>
#include <cstdint>

namespace mmaudit::detail {

inline constexpr int kRowLength = 16, kMostRows = 32;

/// The element of a rounding to nearest even.
struct RowCast {
  int fraction_bits = 0;
  int ignored = 0;          ///< low bits of an element that stay zero
  std::uint64_t least = 0;  ///< bits of the least normal number, as binary64
  double most = 0;          ///< the largest one, and its bits without ignored ones
  std::uint32_t most_code = 0;
  std::uint32_t sign = 0;  ///< bit
  bool integer = false;    ///< two's complement of 8 bits; `least` and `most_code` are not read
  bool saturate = false;
  bool plain_zero = false;  ///< what is zero before it is rounded has no sign
};

/// What a number becomes before it is rounded to an element.
enum class RowScale : std::uint8_t {
  divided,         ///< x / by, in binary64
  multiplied,      ///< x * by, in binary64
  multiplied_f32,  ///< x * by, in binary32
  divided_f32,     ///< x / by, in binary32
};

struct RowWork {
  const float* x = nullptr;  ///< (rows, kRowLength)
  int rows = 0;              ///< at most kMostRows
  RowScale how = RowScale::divided;
  const double* by = nullptr;      ///< (rows)
  std::uint32_t* codes = nullptr;  ///< (rows, kRowLength)
};

struct RowFunctions {
  /// A bit for each row that has to be done otherwise: something in it is not finite, or does not fit.
  std::uint32_t (*cast)(const RowWork& work, const RowCast& how);
  /// The largest magnitude of each row, as bits of binary32: a NaN is larger than an infinity.
  void (*largest)(const float* x, int rows, std::uint32_t* out);
};

/// Of the widest level here.
const RowFunctions& row_functions();

}  // namespace mmaudit::detail
