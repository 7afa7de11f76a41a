#pragma once
// What an audit found, as plain data. The renderers read this and nothing else.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/provenance.hpp"
#include "mmaudit/report/gemm_study.hpp"

namespace mmaudit::report {

/// A file that was read.
struct InputFacts {
  std::string role;  ///< "A", "model"
  std::string name;  ///< its path
  std::uint64_t bytes = 0;
  std::string checksum;  ///< XXH3-128 of the whole file, as `xxhsum -H2` prints it
};

/// A row of the model that numbers come from.
struct ModelRow {
  std::string architecture, instruction;
  std::string accumulator;  ///< in a few words
  std::string evidence, source;
  std::string rules;  ///< all of it, as JSON
};

/// Where the numbers of an audit come from: the run, and what it read. Filled in by the caller.
struct Origin : Provenance {
  std::string backend;       ///< "model" or the GPU and its driver
  std::string architecture;  ///< of the model, e.g. "hopper"
  std::vector<InputFacts> inputs;
  std::vector<ModelRow> rows;  ///< empty: not listed
};

/// One instruction of a replay or of a run against hardware.
struct VerificationRow {
  std::string instruction;
  std::uint64_t dots = 0;  ///< elements of D compared, bit for bit
  std::uint64_t mismatches = 0;
  std::string evidence;  ///< "recorded", "replayed", "literature" or what the caller says
};

enum class Verdict : std::uint8_t {
  agrees,      ///< something was compared and every bit was the same
  disagrees,   ///< at least one mismatch
  not_checked  ///< nothing was compared: says nothing about the model
};

struct Verification {
  std::vector<VerificationRow> rows;
  std::string against;  ///< "recordings of NVIDIA H200", "this GPU: NVIDIA H100", ...

  [[nodiscard]] std::uint64_t dots() const;
  [[nodiscard]] std::uint64_t mismatches() const;
  /// Distinct names: an instruction may have one row for recordings and one for this machine's GPU.
  [[nodiscard]] std::size_t instructions() const;
  [[nodiscard]] std::size_t failing_instructions() const;
  [[nodiscard]] Verdict verdict() const;
};

enum class Operation : std::uint8_t {
  multiplication,     ///< a * b
  inner_product_add,  ///< a0 * 1 + a1 * 1
  accumulation        ///< a * 1 + c
};

/// In which precision the operands are drawn.
enum class Initialisation : std::uint8_t {
  low,        ///< every operand is representable in the type of A and B: no conversion loss
  low_raw_c,  ///< A and B as in low, C keeps all its FP32 bits: the error of the accumulator alone
  fp32        ///< every operand is FP32: the conversion loss is part of the error
};

/// What D is compared with: FP32 arithmetic on the CPU in ascending k, C last.
enum class Reference : std::uint8_t {
  fp32,
  fp32_as_output  ///< that, converted to the format of D
};

/// Errors are D minus reference, over `count` rounds.
struct ErrorStatistics {
  int count = 0;
  int exact = 0;  ///< rounds without any error
  double mean_absolute = 0, max_absolute = 0;
  double mean_relative = 0, max_relative = 0;  ///< over the rounds whose reference isn't zero
  double bias = 0;                             ///< mean of D - reference
  double magnitude_bias = 0;                   ///< mean of |D| - |reference|: below zero for truncation

  /// Before finish() the means hold sums.
  void add(double result, double reference);
  void finish();

 private:
  int relative_count_ = 0;
};

enum class Agreement : std::uint8_t {
  unpublished,  ///< nothing to compare with
  same_digits,  ///< rounds to the printed digits
  explained,    ///< differs for the cause in `note`, and by as much as that cause explains
  differs
};

struct ProfileCell {
  Format dtype = Format::none;   ///< of A and B
  Format output = Format::none;  ///< of C and D
  std::string instruction;
  Operation operation = Operation::multiplication;
  Initialisation init = Initialisation::low;
  Reference reference = Reference::fp32;
  ErrorStatistics error;
  std::string published;  ///< as printed; empty: not published
  std::string source;     ///< of the printed value
  Agreement agreement = Agreement::unpublished;
  std::string note;
};

enum class ChainDraws : std::uint8_t {
  one_chain,    ///< one chain of the full length, its error read after every link
  every_length  ///< a new chain from the same seed for every length, as the paper's programs do: slower
};

struct ChainPoint {
  int length = 0;
  std::optional<double> error;  ///< mean relative L2 error; none where a round has left the finite numbers
  int rounds_not_finite = 0;
};

/// Relative L2 error of D against the number of chained multiplications.
struct ChainCurve {
  Format dtype = Format::none;
  std::string instruction;
  Initialisation init = Initialisation::low;
  int rounds = 0;
  ChainDraws draws = ChainDraws::one_chain;
  std::vector<ChainPoint> points;
  std::optional<int> first_infinity;  ///< the least length with an infinity or a NaN in any round
};

/// One line a reader can act on: a data type on one unit. Statistics with a count of 0 were not measured.
struct DtypeSummary {
  Format dtype = Format::none;
  Format output = Format::none;
  std::string instruction;
  std::string accumulator;     ///< how the sum is kept, from the model row
  std::string evidence;        ///< of that row
  ErrorStatistics conversion;  ///< multiplication of FP32 inputs: dominated by the conversion of A and B
  ErrorStatistics addition;    ///< a0 + a1 of FP32 inputs
  ErrorStatistics accumulator_alone;  ///< representable a, FP32 c: only the unit's own rounding
};

struct FormatFacts {
  std::string name;
  int exponent_bits = 0, fraction_bits = 0;
  double epsilon = 0;  ///< distance from 1 to the next number
  double min_subnormal = 0, min_normal = 0, max_finite = 0;
  bool infinity = false;
};

struct AuditResult {
  Origin provenance;
  Verification verification;
  std::vector<DtypeSummary> dtypes;
  std::vector<ProfileCell> cells;
  std::vector<ChainCurve> chains;
  std::string chain_method;  ///< one sentence
  GemmStudy gemm;            ///< whole products; no curves: not studied
  std::vector<FormatFacts> formats;
  std::vector<std::string> not_covered;

  [[nodiscard]] int count(Agreement agreement) const;
  /// Cells that have a printed value to compare with.
  [[nodiscard]] int published_cells() const;
};

std::string_view name_of(Verdict verdict);
std::string_view name_of(Operation operation);
std::string_view name_of(Initialisation init);
std::string_view name_of(Reference reference);
std::string_view name_of(Agreement agreement);
std::string_view name_of(ChainDraws draws);

}  // namespace mmaudit::report
