#pragma once
// How a whole product can be computed: the type of its operands, how they are scaled, how the sum is kept.
// Each is an entry of a table or a small value with a name; the entries decide which of them fit together.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

/// What operands are converted to.
struct GemmDtype {
  std::string_view name;   ///< "e4m3", "mxf8"
  std::string_view title;  ///< "FP8 E4M3"
  Format element = Format::none;
  Format scale = Format::none;  ///< of the scales that the instruction applies; none: it has none
  int scale_block = 0;          ///< elements of k per scale
  CastRule cast;
  Format output = Format::none;  ///< what libraries usually give back for such operands
  bool scalable = false;         ///< so few exponents that software scales
  Format other = Format::none;   ///< of B where it has another type than A

  [[nodiscard]] constexpr Format element_b() const { return other == Format::none ? element : other; }
};

/// Those whose operands have one type, in the order that listings print.
std::span<const GemmDtype> gemm_dtypes();
/// One of them, or a pair: "e4m3-e5m2".
const GemmDtype* find_gemm_dtype(std::string_view name);
/// A in one type and B in another ("e4m3", "e5m2"); null where no instruction takes both.
const GemmDtype* find_gemm_dtype(std::string_view a, std::string_view b);
/// The row whose instruction scales blocks of these elements by powers of two; null when there is none.
const GemmDtype* microscaled(const GemmDtype& dtype);

/// Who scales, and over what.
enum class Scaling : std::uint8_t {
  none,
  tensor,    ///< one binary32 factor: the largest magnitude becomes the format's largest number
  row,       ///< one per row of A and one per column of B
  blocks,    ///< "1x128": one per 128 k of each row of A and column of B; applied in binary32 when the
             ///< block's sum leaves the tensor core
  tiles,     ///< "128x128": as blocks, but B has one per 128 k of 128 columns (DeepSeek's weights)
  mx,        ///< by the instruction: the block scales of a dtype that has only one rule for them
  mx_floor,  ///< by the instruction: a power of two per 32 k that may saturate the largest (OCP)
  mx_ceil    ///< the same, rounded up until nothing saturates (RCEIL)
};
std::string_view name_of(Scaling scaling);
/// The names that find_scalings() takes, in the order that listings print.
std::vector<std::string> scaling_names();
/// The scalings of this name: "mx" means both rules for powers of two. Empty for anything else.
std::vector<Scaling> find_scalings(std::string_view name);
constexpr bool by_instruction(Scaling scaling) { return scaling >= Scaling::mx; }
/// Factors that differ along K: binary32 totals take them.
constexpr bool along_k(Scaling scaling) { return scaling == Scaling::blocks || scaling == Scaling::tiles; }
inline constexpr std::uint64_t kScaleBlock = 128;
/// The scaling of such operands when only one is computed.
Scaling usual_scaling(const GemmDtype& dtype);
/// The scalings of such operands when the user names none.
std::vector<Scaling> usual_scalings(const GemmDtype& dtype);

/// How the sum over K is kept.
struct Accumulation {
  std::uint64_t promote = 0;  ///< k after which the running sum goes to a binary32 total; 0: never
  std::uint64_t split_k = 1;  ///< slices of K, summed in binary32
  bool half = false;          ///< binary16 accumulators
  constexpr bool operator==(const Accumulation&) const = default;
};
/// "plain", "promote:128", "split-k:4", "half".
std::string name_of(const Accumulation& accumulation);
/// Those, and "fast" for "plain". Powers of two of 1 to 2^20; nullopt for anything else.
std::optional<Accumulation> find_accumulation(std::string_view name);

struct GemmCombination {
  const Architecture* architecture = nullptr;
  GemmDtype dtype;
  Scaling scaling = Scaling::none;
  Accumulation accumulation;
  Format output = Format::none;  ///< of D; none: the dtype's
  std::optional<Op> op;          ///< only this kind of instruction
};

/// The instruction that does it, and its datapath; or why there is none.
struct GemmPath {
  Instruction instruction;
  const DatapathEntry* entry = nullptr;
  std::string why_not;       ///< one clause; empty: it can be computed
  bool lacks_dtype = false;  ///< no instruction of any kind, with binary32 sums, takes this dtype
};
/// Of several instructions the one whose unit is the newest (tcgen05, wgmma, mma), then the deepest k.
GemmPath find_path(const GemmCombination& combination);

/// What was computed, in words: of a curve of the study, of a row of an audit.
struct GemmSubject {
  std::string dtype, title;  ///< "e4m3", "FP8 E4M3"
  std::string scaling, accumulation;
  Format output = Format::none;
  std::string instruction, evidence;
};
GemmSubject subject_of(const GemmCombination& combination, const GemmPath& path);

/// The same combination as the instruction sees it: e4m3 scaled by "mx-floor" is the dtype mxf8, a dtype
/// whose instruction scales is scaled by it, and a dtype with the exponents of binary32 is not scaled.
GemmCombination settled(GemmCombination combination);

}  // namespace mmaudit
