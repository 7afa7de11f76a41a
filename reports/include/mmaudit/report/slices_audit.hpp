#pragma once
// How many slices does this product need? One row per scheme of slices, with its errors. docs/slices.md.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/slices.hpp"

namespace mmaudit::report {

/// Of elements whose exact value is finite and not above the largest number of the format.
struct SliceErrors {
  double norm = 0;         ///< Frobenius, of D - exact over exact
  double element = 0;      ///< largest |D - exact| over the sum of all |a b|; without half the least
                           ///< subnormal number, by which the nearest number can be off
  std::uint64_t lost = 0;  ///< elements that are NaN or infinite where A B is not, or not the same of both
  long double off = 0, whole = 0;  ///< squares of D - exact and of exact

  void add(const SliceErrors& other);  ///< other elements of the same product
};

struct SliceRow {
  Slicing slicing;
  std::string name, instruction, evidence;
  int products = 0;
  SliceErrors errors;
  bool falls_back = false;  ///< it is a chain of fma instead: a number is not finite
};

/// What one operand does to slices.
struct SliceFacts {
  TensorFacts tensor;
  int widest = 0;  ///< binary digits between the largest and the least of a row (of B a column)
  std::uint64_t widest_lane = 0;  ///< which one
  std::uint64_t not_finite = 0;   ///< rows (columns) with an infinity or a NaN
  std::uint64_t subnormal = 0, negative_zero = 0;
};

/// Where tiles of D were looked at and not all of it, a scheme passes only with errors so many times below
/// the limits: other elements may be worse. docs/results/slices.md has how often that is enough.
inline constexpr double kSampleMargin = 2;
/// A chain of fma with such an error by norm has no decimal digit right, and is no measure.
inline constexpr double kNoDigit = 0.1;

struct SliceAudit {
  Origin provenance;
  Format number = Format::f64;
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t compared = 0;    ///< elements with all schemes
  std::uint64_t checked = 0;     ///< elements with the advised scheme
  std::uint64_t not_finite = 0;  ///< elements of A B, for a NaN or an infinity in A or B
  std::uint64_t beyond = 0;      ///< elements above the format's largest number; no scheme is advised then
  bool sampled = false, whole = true;  ///< not all of D has all schemes; has the advised one
  SliceFacts a, b;
  std::vector<SliceRow> rows;
  SliceErrors native;                   ///< of a chain of fma in the same format
  double limit = 0, element_limit = 0;  ///< 0: that the native chain is no better
  std::optional<std::size_t> use;       ///< the row within the limits with the fewest products
  std::string architecture;
  std::vector<std::string> refused;  ///< why there is no row of a scheme

  [[nodiscard]] bool limited() const { return limit > 0 || element_limit > 0; }
  [[nodiscard]] double margin() const { return whole || !limited() ? 1 : kSampleMargin; }
  /// No element of A B that was looked at is finite and not zero: no error says anything.
  [[nodiscard]] bool zero() const { return native.whole == 0; }
  [[nodiscard]] bool measures() const { return limited() || native.norm < kNoDigit; }
};

/// What: reads the files and studies D, or a sample of it, in `number`, f64 or f32. Rows: of binary64
/// ascending numbers of slices, up to the last that still helps; all where none passes. Errors: InputError
/// that names the option, what was found and what is allowed.
SliceAudit audit_slices(const TensorAuditRequest& request, Format number, double element_limit);
Report report_of(const SliceAudit& audit);

}  // namespace mmaudit::report
