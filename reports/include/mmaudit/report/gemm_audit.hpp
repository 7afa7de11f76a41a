#pragma once
// May these tensors be multiplied in this dtype? One row a combination, each with its verdict. docs/audit.md.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/gemm_errors.hpp"
#include "mmaudit/report/report.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// What a tensor holds, all of it.
struct TensorFacts {
  std::string role;   ///< "A", "B" or "C"
  std::string name;   ///< as the user named it
  std::string dtype;  ///< of the file
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0, nan = 0, infinite = 0, zeros = 0;
  double largest = 0, least = 0;   ///< finite magnitudes other than zero; 0: there is none
  std::uint64_t zeros_at_end = 0;  ///< in the order of the file
};

enum class GemmVerdict : std::uint8_t {
  not_asked,  ///< no limit was given
  pass,
  fail,
  undecided,  ///< the sample's interval holds the limit
  not_judged  ///< the tensors or the figures say nothing about the product
};
std::string_view name_of(GemmVerdict verdict);

/// One product of the worst element: as it is, and of the converted operands with their scales.
struct WorstTerm {
  std::uint64_t k = 0;
  double a = 0, b = 0, converted_a = 0, converted_b = 0;
};

/// The first `k` products of the worst element.
struct WorstStep {
  std::uint64_t k = 0;
  double converted = 0;  ///< their exact sum, operands converted
  double sum = 0;        ///< what the accumulator holds then, times the scales
};

/// The element of D with the largest error, and where that error comes from.
struct WorstElement {
  std::uint64_t row = 0, column = 0;  ///< of the whole D
  double exact = 0, converted = 0, accumulator = 0, result = 0;
  double magnitudes = 0;         ///< sum of |a_k b_k|
  std::vector<WorstTerm> terms;  ///< the 8 whose conversion changes them most, that first
  std::vector<WorstStep> steps;  ///< at most 64, ascending k; empty with split-K
};

/// One k of the product: a column of A and a row of B.
struct ChannelShare {
  std::uint64_t k = 0;
  double share = 0;  ///< of the squared quantization error
  double largest_a = 0, largest_b = 0;
};

/// Where along K the quantization error of a conversion arises.
struct ChannelStudy {
  std::vector<ChannelShare> channels;  ///< the 8 of the largest share, that first
  std::vector<std::uint64_t> wide;     ///< those that stand out; empty: none does
  double wide_share = 0;
  std::optional<double> kept;  ///< the quantization error that is left when `wide` stays in BF16
};

/// Norm of the error over the norm of the exact product, by bands of D's rows and columns.
struct ErrorMap {
  std::vector<std::uint64_t> rows, columns;   ///< the first of every band
  std::vector<std::optional<double>> errors;  ///< (rows, columns); none: nothing was compared
};

/// A test as numpy.allclose(D, exact) and torch.testing.assert_close(D, exact) do it: an element passes where
/// |D - exact| <= absolute + relative |exact|, in binary64; an infinity passes as the same one, a NaN never.
struct Tolerances {
  double relative = 0, absolute = 0;
};

/// An element of the whole D.
struct TestedElement {
  std::uint64_t row = 0, column = 0;
  double exact = 0, result = 0;
};

/// What such a test finds.
struct ToleranceTest {
  std::uint64_t elements = 0, beyond = 0;     ///< compared; of these not within the tolerances
  std::optional<TestedElement> first, worst;  ///< beyond: row by row; most times its tolerance
  double passing_atol = 0;  ///< the least `absolute` that all pass with, under the same `relative`
};

struct GemmAuditRow : GemmSubject {
  std::string architecture;
  CastCounts cast_a, cast_b;
  GemmErrors errors;
  std::optional<WorstElement> worst;  ///< none: no element was compared, or none differs
  std::optional<ToleranceTest> test;  ///< none: no tolerances were given
  ChannelStudy channels;              ///< the same for every row with this conversion
  ErrorMap map;
  GemmVerdict verdict = GemmVerdict::not_asked;
  std::string cause;   ///< of a verdict other than pass: what dominates, in a word or two
  std::string why;     ///< the same with this row's figures
  std::string advice;  ///< what would help
};

/// A combination that was asked for and can't be computed.
struct GemmAbsent {
  std::string architecture, dtype, scaling, accumulation;
  std::string why;
  bool lacks_dtype = false;  ///< as in GemmPath
};

struct GemmAudit {
  Origin provenance;
  std::vector<TensorFacts> tensors;
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t rows = 0, columns = 0;  ///< of D that were computed
  std::uint64_t seed = 0;
  std::optional<double> limit;      ///< on the relative Frobenius error
  std::optional<double> row_limit;  ///< on the error of each row and of each column of D, beside `limit`
  std::optional<Tolerances> tolerances;
  std::string method;  ///< how D was sampled and what the interval is
  std::vector<std::string> remarks;
  std::vector<GemmAuditRow> rows_of;
  std::optional<double> reference;  ///< total of BF16, not scaled, on the first architecture that has it
  std::vector<GemmAbsent> absent;
  std::vector<std::string> left_out;  ///< `absent` in words, one line per reason
  /// "hopper has no combination with nvf4": what the request names and a GPU has no row of. Empty: nothing,
  /// or the request allows it.
  std::vector<std::string> missing;
  std::string untried;  ///< what was not asked for and could be, in a sentence; empty: nothing

  [[nodiscard]] int count(GemmVerdict verdict) const;
  /// A limit or tolerances were given.
  [[nodiscard]] bool judges() const { return limit || tolerances; }
  /// It judges, something was judged, nothing is missing, and every row passes.
  [[nodiscard]] bool passes() const;
};

struct GemmAuditRequest {
  std::vector<GemmCombination> combinations;  ///< settled; those without a path are left out with the reason
  GemmOperands operands;                      ///< the sampled rows of A and columns of B
  std::uint64_t whole_m = 0, whole_n = 0;
  std::span<const std::uint64_t> rows, columns;  ///< which of the whole D; empty: the first
  std::optional<double> limit, row_limit;
  std::optional<Tolerances> tolerances;
  std::uint64_t seed = 1;
  std::vector<TensorFacts> tensors;  ///< empty: nothing is known about them
};

/// Fills in everything but, except for its rows of the model, provenance. `how.progress`
/// counts multiply-adds of audit_work().
GemmAudit audit_gemm(const GemmAuditRequest& request, const MatmulOptions& how = {});
/// Multiply-adds that audit_gemm() does in all.
std::uint64_t audit_work(const GemmAuditRequest& request);

/// `count` of `from` at random, ascending; all of them when there are no more.
std::vector<std::uint64_t> sampled(std::uint64_t count, std::uint64_t from, std::uint64_t seed);

/// Rows and columns of D such that at most `elements` of them and about `multiply_adds` are computed, as
/// square as m and n allow.
struct SampleSize {
  std::uint64_t rows = 0, columns = 0;
};
SampleSize sample_size(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t elements,
                       std::uint64_t multiply_adds);

/// The "schema" is "mmaudit.audit.gemm/1".
std::string to_json(const GemmAudit& audit);
/// CSV: one line per row. JUnit: one test case per row; fail and undecided are failures, not_judged an error.
Report report_of(const GemmAudit& audit);

// An audit of the user's own tensors: mmaudit audit --a --b.

/// What to multiply and how, in the words of the command's options; the names of docs/audit.md.
struct TensorAuditRequest {
  std::string a, b, c;               ///< files; `c` may be empty
  std::string product;               ///< what refusals call A and B together; empty: by their options
  std::optional<bool> b_transposed;  ///< the file of B is (N, K); none: (K, N), and a square B is refused
  std::vector<const Architecture*> architectures;
  std::vector<std::string> dtypes, scales, policies;  ///< empty: the usual ones
  std::string dtype_a, dtype_b;                       ///< a pair of dtypes that differ; both empty: none
  std::string sample = "auto", output, unit;
  double limit = 0, row_limit = 0;  ///< 0: none
  std::optional<Tolerances> tolerances;
  bool allow_missing = false;           ///< names that a GPU has no combination with may be left out
  double largest_a = 0, largest_b = 0;  ///< of what A and B are a sample of; 0: they are whole
  std::vector<InputFacts> inputs;       ///< of the files, by a caller who watches them; empty: they are read
  std::uint64_t seed = 1;
  unsigned threads = 0;
};

/// Progress of the audit: begin() names a stage and its number of steps, advance() adds finished steps.
struct TensorAuditProgress {
  std::function<void(std::string_view what, std::uint64_t total)> begin;
  std::function<void(std::uint64_t steps)> advance;
};

/// What: reads the files, samples D, computes every combination that the architectures have. Of the
/// provenance it fills in the backend, the architectures, the files and the rows of the model. Errors:
/// InputError that names the option, what was found and what is allowed.
GemmAudit audit_tensors(const TensorAuditRequest& request, const TensorAuditProgress& progress);

}  // namespace mmaudit::report
