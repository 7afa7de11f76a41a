#pragma once
// The error of a whole product under the model, split into its causes. Method and definitions: docs/audit.md.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mmaudit/gemm_combination.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::report {

/// What one operand lost when it was converted. NaN and infinite elements count only as `not_finite`.
struct CastCounts {
  std::uint64_t elements = 0;
  std::uint64_t underflow = 0;  ///< not zero, became zero
  std::uint64_t subnormal = 0;  ///< became a subnormal
  std::uint64_t saturated = 0;  ///< rounds, after scaling, to more than the format's largest number
  std::uint64_t not_finite = 0;
  /// Finite elements by the bits they lost, of the 24 that a binary32 number has: 0 where the relative error
  /// is below 2^-24, L where it is in [2^(L-25), 2^(L-24)), 24 where it is half of the number or more.
  std::array<std::uint64_t, 25> bits_lost = {};

  CastCounts& operator+=(const CastCounts& other);
};

struct Interval {
  double low = 0, high = 0;
};

/// A row of D, or a column: the norm of its error over the norm of the exact one.
struct RowError {
  std::uint64_t row = 0;
  double error = 0;
};

/// Every error is relative to the exact product: Frobenius norms over the norm of the exact product, means
/// over the mean magnitude of its elements. Only elements that were compared count.
struct GemmErrors {
  std::uint64_t elements = 0;  ///< of D that were computed
  std::uint64_t compared = 0;  ///< of these: exact and D both finite
  std::uint64_t no_exact = 0;  ///< a NaN or an infinity in the operands, or beyond binary64
  std::uint64_t overflow = 0;  ///< D infinite or NaN where the exact element is finite
  bool zero_product = false;   ///< every exact element that was compared is zero: nothing is relative to it
  double total = 0;            ///< D - exact
  double quantization = 0;     ///< product of the converted operands - exact
  double accumulation = 0;     ///< accumulator before D's rounding - product of the converted operands
  double output = 0;           ///< D - accumulator: the factors of the scales, and D's type
  double cosine = 0;           ///< of the angle between D and the exact product, both as vectors
  double max_ulp = 0, p50_ulp = 0, p99_ulp = 0;  ///< |D - exact| in units in the last place of D's type
  double bias = 0;                               ///< mean of D - exact
  double magnitude_bias = 0;                     ///< mean of |D| - |exact|
  double accumulation_drift = 0;     ///< mean of |accumulator| - |product of the converted operands|
  std::optional<double> bound;       ///< a-priori bound on the accumulation part, as norm
  double of_bound = 0;               ///< largest accumulation error of an element, in units of its own bound
  std::optional<Interval> interval;  ///< of `total`, 95 %, where only a sample was computed
  /// The largest |D - exact|.
  std::uint64_t worst_row = 0, worst_column = 0;
  double worst_exact = 0, worst_result = 0;
  std::vector<RowError> rows;  ///< the 8 largest, that first
  double middle_row = 0;       ///< half of the rows have a larger error
  RowError column;             ///< of the largest error
  /// Rows and columns with an exact element other than 0 in which D has zeros, infinities and NaN alone.
  std::vector<std::uint64_t> lost_rows, lost_columns;

  /// The row or the column of the largest error.
  [[nodiscard]] RowError largest_line() const {
    return !rows.empty() && rows[0].error > column.error ? rows[0] : column;
  }
  [[nodiscard]] bool loses() const { return !lost_rows.empty() || !lost_columns.empty(); }
  /// Signal to quantization noise of D, in decibels: infinite where nothing differs.
  [[nodiscard]] double sqnr() const;
};

/// Operands as numbers: A (m, k), B (k, n), C (m, n) or empty, row-major and contiguous.
struct GemmOperands {
  std::uint64_t m = 0, n = 0, k = 0;
  std::span<const double> a, b, c;
  /// Largest finite magnitudes of the whole tensors that these are a part of; 0: of these.
  double largest_a = 0, largest_b = 0;
  /// What the factor of all of A comes from instead, whatever A holds (a static scale); 0: from A.
  float static_a = 0;
};

/// The product of the operands as they are, in binary64 with compensated sums: within 2^-48 of the sum of all
/// |a_k b_k|, and NaN or infinite where they are. (m, n).
std::vector<double> exact_product(const GemmOperands& operands, const MatmulOptions& how = {});

/// What a bound needs to know about kPiece consecutive k of a lane.
struct LanePiece {
  double squares = 0;    ///< of the elements times the scales of the instruction
  int element = -10000;  ///< largest exponent that such a product's factors spell
  int scale = -10000;    ///< largest exponent of a scale of the instruction
};
inline constexpr std::uint64_t kPiece = 32;

/// One operand after conversion, in the layout it came in. A lane is a row of A, a column of B.
struct ConvertedOperand {
  std::vector<std::byte> raw;           ///< elements in storage width
  std::vector<double> values;           ///< what they spell, times the scale of the instruction: exact
  std::vector<std::uint8_t> scales;     ///< as matmul() takes them
  std::vector<float> factors;           ///< of software: one, or (lanes, blocks)
  std::uint64_t lanes = 0, blocks = 1;  ///< of `factors`; one lane and one block: the same for all
  std::uint64_t depth = 0;              ///< k per factor; 0: all of them
  std::vector<LanePiece> pieces;        ///< (lanes of the operand, ceil(k / kPiece))
  CastCounts counts;

  [[nodiscard]] float factor(std::uint64_t lane, std::uint64_t block = 0) const {
    return factors[(lanes == 1 ? 0 : lane) * blocks + (blocks == 1 ? 0 : block)];
  }
  [[nodiscard]] float factor_at(std::uint64_t lane, std::uint64_t k) const {
    return factor(lane, depth == 0 ? 0 : k / depth);
  }
};

/// Both operands converted to one dtype under one scaling, and the product of what they became: the same for
/// every accumulation.
struct ConvertedOperands {
  GemmDtype dtype;
  Scaling scaling = scalings::none;
  std::uint64_t m = 0, n = 0, k = 0;
  ConvertedOperand a, b;
  std::vector<double> product;  ///< with C; computed like exact_product()
};

/// What: x / scale, rounded once to the element format. Scales: of software binary32, such that the largest
/// magnitude they cover becomes the format's largest number (1 where all are zero); of ue8m0 by
/// mx_floor 2^(floor(log2 largest) - the element's largest exponent) (OCP Microscaling 1.0, section 6.3), by
/// mx_ceil the least power of two that is at least largest / the format's largest number (RCEIL of
/// Transformer Engine, torchao and CUTLASS: PTX's cvt.rp.satfinite.ue8m0x2.f32); of ue4m3 the nearest to
/// largest / 6 over a binary32 factor of the tensor, largest of the tensor / (6 * 448). `b`: operands.b
/// converted like this before; null: it is converted here.
ConvertedOperands convert_operands(const GemmDtype& dtype, const Scaling& scaling,
                                   const GemmOperands& operands, const MatmulOptions& how = {},
                                   const ConvertedOperand* b = nullptr);

/// (m, n) each.
struct GemmElements {
  std::vector<double> accumulator;  ///< as the sum leaves the tensor core or the total, times the scales, + C
  std::vector<double> result;       ///< D
  std::vector<double> bound;  ///< on |accumulator - converted product|; empty where the datapath has none
};

/// What: D by the model. Order of the arithmetic: D is fl32(scale_a * scale_b) times the sum in binary32
/// (with C one fma), then D's type to nearest even. Blocks: total = fma(fl32(scale_a * scale_b), sum of the
/// block, total) in binary32, every `promote` of k. Errors: none while find_path() gave no reason.
GemmElements compute_elements(const GemmCombination& combination, const GemmPath& path,
                              const ConvertedOperands& converted, std::span<const double> c,
                              const MatmulOptions& how = {});

/// Everything that they say. (converted - exact) + (accumulator - converted) + (result - accumulator) is
/// result - exact, up to the binary64 rounding of the differences. The sums don't depend on `threads` (0: one
/// per core).
GemmErrors errors_of(std::span<const double> exact, const ConvertedOperands& converted,
                     const GemmElements& elements, Format output, unsigned threads = 1);

/// What: 95 % interval of errors_of().total over all rows and columns of which these were drawn at random: a
/// bootstrap over rows and over columns, independently (400 resamples; percentiles). `whole_rows`: every row
/// is here, and none is resampled; likewise columns. From fewer than 8 rows or columns that are not all of
/// them nothing follows: 0 to infinity.
Interval total_interval(std::span<const double> exact, const GemmElements& elements, std::uint64_t columns,
                        bool whole_rows, bool whole_columns, std::uint64_t seed);

}  // namespace mmaudit::report
