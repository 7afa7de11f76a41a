#pragma once
// The special functions of a GPU and what CUDA makes of them, as rows: docs/functions.md.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mmaudit/functions/evaluate.hpp"

namespace mmaudit::functions {

enum class BoundKind : std::uint8_t { none, relative, absolute, ulps };

/// What a vendor promises: the largest error for operands in [low, high].
struct Bound {
  BoundKind kind = BoundKind::none;
  double most = 0, low = 0, high = 0;  ///< ulps: from the correctly rounded result
  std::string_view source;
};

struct Function {
  std::string_view name;  ///< PTX text, CUDA's name, or CUDA's name and "/fast" for --use_fast_math
  Id id;
  int operands, bits;      ///< 1, or 2 for a quotient; bits of an operand and of the result
  std::string_view value;  ///< what it approximates: "exp2", "log2", ...
  std::string_view steps;  ///< the instructions of a GPU that it is
  Bound bound;
};

/// How all rows are known, and on what (docs/functions.md).
inline constexpr std::string_view kEvidence = "recorded";
inline constexpr std::string_view kRecordedOn = "an H200 (sm_90, driver 580.159.04)";
/// Every row.
std::span<const Function> all();
/// The row of that name; null where there is none.
const Function* find(std::string_view name);

/// The bits that an H100 gives, on this processor. What: `count` results of a function. Operands and results
/// are words of 32 bits, of which a narrow function uses the low 16; `y` is the divisors of a quotient, and
/// otherwise not read. Range: any bits; NaN gives 0x7FFFFFFF (0x7FFF for a narrow one). Rounding and errors:
/// the row's steps and bound. Source: the recordings of corpus/data/hopper/functions.
void evaluate(const Function& function, const std::uint32_t* x, const std::uint32_t* y, std::uint32_t* result,
              std::size_t count);
/// The same for binary32.
inline float evaluate(const Function& function, float x, float y = 1) {
  return as_float(evaluate(function.id, bits_of(x), bits_of(y), kUnit));
}

/// The exact value in binary64 (libm), for errors in ulp.
double exact(const Function& function, double x, double y = 1);

}  // namespace mmaudit::functions
