#pragma once
// The special functions of a GPU and what CUDA makes of them, as rows: docs/functions.md.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/functions/evaluate.hpp"

namespace mmaudit::functions {

/// How a row is known (docs/functions.md): compared with a GPU on all operands, and on which.
inline constexpr std::string_view kRecorded = "recorded";
inline constexpr int kRecordedCapability = 90;  ///< of other GPUs a row has its bound alone: literature
inline constexpr std::string_view kRecordedOn = "an H200 (sm_90, driver 580.159.04)";

enum class BoundKind : std::uint8_t { none, relative, absolute, ulps };

/// What a vendor promises: the largest error for operands in [low, high]; of __fdividef, divisors of that
/// size.
struct Bound {
  BoundKind kind = BoundKind::none;
  double most = 0, low = 0, high = 0;  ///< ulps: from the correctly rounded result
  std::string_view source;
  double per_x = 0;  ///< ulps: and floor(per_x |x|) more
};

enum class Symmetry : std::uint8_t { none, odd, even };
enum class Trend : std::uint8_t { none, rises, falls };

/// What a function approximates, and the laws that it would keep if it were exact (Found).
struct Value {
  std::string_view name;
  double (*of)(double x, double y);  ///< in binary64 (libm)
  Symmetry symmetry = Symmetry::none;
  Trend trend = Trend::none;  ///< of 1/x: on either side of 0
};

struct Function {
  std::string_view name;  ///< PTX text, CUDA's name, or CUDA's name and "/fast" for --use_fast_math
  Id id;
  int operands, bits;        ///< 1, or 2 for a quotient; bits of an operand and of the result
  std::string_view value;    ///< what it approximates: "exp2", "log2", ...
  std::string_view steps;    ///< the instructions of a GPU that it is
  Bound bound, elsewhere{};  ///< `elsewhere` holds outside of the first one's operands
  int least_capability = 0;  ///< where PTX has the instruction: "Target ISA Notes" of the bound's section
  std::string_view evidence = kRecorded;
};

/// How often a law does not hold, and the first operand where it doesn't, in the order of bits.
struct Breaks {
  std::uint64_t count = 0;
  std::uint32_t first = 0;
};
/// The largest error, in the unit of the bound, and its first operand.
struct Worst {
  double error = 0;
  std::uint32_t x = 0;
};
/// What all operands of a row give against its laws: the bounds, and the symmetry and trend of its value.
struct Found {
  Worst bound{}, elsewhere{};
  Breaks above{}, symmetry{};             ///< above: the error is larger than the bound
  Breaks inside_binade{}, past_binade{};  ///< x and the next number in size: results in the wrong order
};

/// Every row.
std::span<const Function> all();
/// The row of that name; null where there is none.
const Function* find(std::string_view name);
/// The row of that name; else the instruction's forms, in their order: "ex2", "ex2.approx.ftz". Empty: none.
std::vector<const Function*> rows_of(std::string_view name);

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

/// What the function approximates.
const Value& value_of(const Function& function);
/// Null for a row whose operands were not gone through: quotients. Source: a program on an H200 over all
/// operands, with errors of the worst ones by libm (x86-64, glibc 2.36); functions_laws_slow_test repeats it.
const Found* found_on_all(const Function& function);
/// The exact value in binary64 (libm), for errors in ulp.
inline double exact(const Function& function, double x, double y = 1) { return value_of(function).of(x, y); }

/// The type of its numbers.
FormatSpec format_of(const Function& function);
/// Whether subnormal operands and results are zeros: the forms .ftz, and --use_fast_math.
bool flushes(const Function& function);

/// A step of the unit in words: its segment, coefficients, square, sum.
struct UnitStep {
  std::string_view name;
  std::string text;
};
/// What the unit does with the operand, where the row is one MUFU; else empty.
std::vector<UnitStep> unit_steps(const Function& function, std::uint32_t x);

/// result - exact in units of the last place of the row's type at the exact value. NaN where there is no such
/// number: what is not finite, and subnormal numbers of a row that flushes.
double ulps_from_exact(const Function& function, std::uint32_t x, std::uint32_t result, double exact);

}  // namespace mmaudit::functions
