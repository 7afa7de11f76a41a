#pragma once
// Products of binary32 and binary64 out of products of smaller formats: the operands are split into parts,
// parts are multiplied by matrix instructions, their sums are added. A scheme is a row of data.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/gemm_plan.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

/// Part a of A times part b of B; part 0 is the largest.
struct PartPair {
  std::uint8_t a = 0, b = 0;
  bool clear_nan = false;  ///< before it a running sum that is a NaN becomes +0
  int shift = 0;           ///< before it the running sum is multiplied by 2^shift
};

struct SliceScheme {
  std::string_view name;
  Format input = Format::f32;  ///< of A, B and D
  std::string_view dtype;      ///< what the parts are, a name of gemm_dtypes()
  int parts = 0;               ///< 0: the user, or the data, says how many
  int fewest = 1, most = 0;    ///< of parts that the user can ask for
  /// Integers: parts are digits of this many bits, the first of `first_bits`, of a number over a power of two
  /// that is above every magnitude of its row of A or column of B, cut off. Of all parts whose numbers add up
  /// to less than `parts` the products are taken, in ascending order of that sum, then of A's. 0: parts are
  /// floating-point numbers.
  int digit_bits = 0;
  int first_bits = 0;
  /// Integers: part p is the residue, of least magnitude, modulo moduli[p] of a number times a power of two,
  /// cut off. The products of equal parts are put together by the Chinese remainder theorem.
  std::span<const std::uint16_t> moduli = {};
  bool balanced = false;  ///< digits behind the first go from -half to half - 1, else have the number's sign;
                          ///< where the first could be too large the power of two is the next one
  bool by_band = false;   ///< sums of products whose parts' numbers add up to the same are added as integers
  bool chooses = false;   ///< `auto` is allowed
  /// `auto`: k per block of the exponents that it looks at; 0: those of whole rows and columns.
  std::uint64_t choice_block = 0;
  /// Where a number is not finite, all of D is a chain of fma; else such rows and columns are NaN.
  bool fma_where_not_finite = false;
  /// How a part is rounded from the rest, number minus the parts before; of the last part. None: it keeps all
  /// bits of binary32, of which the instruction takes those that it has.
  std::optional<CastRounding> rounding = {}, last_rounding = {};
  int part_shift = 0;  ///< every rest is multiplied by 2^part_shift before it is split further
  std::span<const PartPair> products = {};  ///< in this order, in one chain
  /// k of a round of all products; the sum then goes to a binary32 total, or with `continues` stays in the
  /// accumulator. 0: the instruction's k.
  std::uint64_t round = 0;
  bool continues = false;
  std::string_view evidence = {}, source = {};

  [[nodiscard]] constexpr bool integer() const { return digit_bits != 0 || !moduli.empty(); }
};

std::span<const SliceScheme> slice_schemes();

/// A scheme, with how many parts.
struct Slicing {
  const SliceScheme* scheme = nullptr;
  int parts = 0;            ///< 0: the data says it, slices_for()
  std::uint64_t round = 0;  ///< in the place of the scheme's; 0: the scheme's
};
/// "bf16x9", "ozaki1:8", "ozaki1:auto"; nullopt for anything else.
std::optional<Slicing> find_slicing(std::string_view name);
/// What find_slicing() takes, in the order that listings print.
std::vector<std::string> slicing_names();
std::string name_of(const Slicing& slicing);
/// Products of parts that a scheme takes of each product.
int products_of(const Slicing& slicing);

/// The instruction that multiplies the parts: the newest unit of the architecture, then the deepest k.
struct SlicePath {
  Instruction instruction;
  const DatapathEntry* entry = nullptr;
  std::string why_not;  ///< empty: it can be computed
};
SlicePath slice_path(const SliceScheme& scheme, const Architecture& architecture);

/// How many parts `auto` means for A (m, k) and B (k, n); at least 1. Without blocks the least number that
/// loses no bit of any number, as ozIMMU counts: 53 bits of each, behind the exponents by which it is below
/// the largest of its row or column; zeros and what is not finite don't count. With blocks as cuBLAS counts:
/// 54 bits behind the most, over all elements of D, by which the exponents of the largest of the row and of
/// the column are above the largest sum over blocks of the one's largest and the other's least exponent,
/// where a zero has 2^-4194.
int slices_for(const SliceScheme& scheme, const Matmul& problem);

/// Called after all products of digits whose numbers add up to `sum`, with D so far: what `sum` + 1 parts
/// give where digits are not balanced. False: no more.
using OnBand = std::function<bool(int sum, const double* d)>;

/// Why sliced_matmul() can't do this, as "field: found X, allowed: Y"; empty when it can.
std::string why_no_slices(const Slicing& slicing, const Instruction& instruction, const Datapath& datapath,
                          const Matmul& problem);

/// What: D as the scheme computes it. Shapes: as Matmul, without C, scales, epilogue, promote and split_k; A,
/// B and D in scheme.input. Range and rounding: any bit pattern. Parts of floating-point numbers: rests and
/// totals in binary32, to nearest even; NaNs as the instruction makes them. Digits: a sum of products of
/// parts a and b, or of its band, times 2^-(2 first_bits + digit_bits (a + b)) is added to a binary64 total,
/// which is then multiplied by the powers of two of row and column, rounded once. Residues: the sum of both
/// exceeds the moduli's product where GEMMul8's would, and D is off by a multiple of it. `on_band`: with
/// digits and one matrix. Errors: none when why_no_slices() is empty, but what `product` throws.
void sliced_matmul(const Slicing& slicing, const Instruction& instruction, const Datapath& datapath,
                   const Matmul& problem, const Product& product, const OnBand& on_band = {});

}  // namespace mmaudit
