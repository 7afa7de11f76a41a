#pragma once
// How a whole product can be computed: the type of its operands, how they are scaled, how the sum is kept.
// Each is an entry of a table or a small value with a name; the entries decide which of them fit together.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/recipe.hpp"

namespace mmaudit {

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
  Scaling scaling = scalings::none;
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
