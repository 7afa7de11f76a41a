#pragma once
// What every instruction answers to a fixed set of seeded inputs, kept as bits, and what changed between two
// such sets.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/backend.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/dot_case.hpp"
#include "mmaudit/gemm_problem.hpp"
#include "mmaudit/provenance.hpp"
#include "mmaudit/report/report.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

inline constexpr std::string_view kBaselineSchema = "mmaudit.baseline/1";
inline constexpr std::uint64_t kMostBaselineTiles = 256;

/// What was computed from some inputs.
struct BaselineBits {
  std::string inputs;  ///< XXH3-128 of A, B, and where there are any C, scales and metadata, hexadecimal
  std::string hash;    ///< XXH3-128 of `d`
  std::vector<std::byte> d;  ///< in storage width
};

/// `d` has the shape (tiles, m, n).
struct BaselineFamily : BaselineBits {
  std::string family = {};  ///< of gen::InputClass
};

struct BaselineInstruction {
  Instruction instruction;
  std::vector<BaselineFamily> families;
};

/// One matrix product by cuBLASLt; `d` is row-major.
struct BaselineProduct : BaselineBits {
  std::string problem = {};  ///< name_of() of a GemmProblem
  std::string plan = {};     ///< its plan in words; "unknown"; empty in older files
  std::vector<std::pair<std::string, std::int64_t>> algorithm = {};
  std::size_t element_bytes = 1;
};

/// Where the bits come from, and the bits.
struct Baseline {
  std::string on;  ///< "model" or "hardware"
  std::string architecture;
  Provenance provenance;  ///< with the seed
  std::string generator;  ///< gen::kGeneratorVersion
  std::uint64_t tiles = 1;
  std::vector<BaselineInstruction> instructions;
  std::string cublaslt;                   ///< version; empty: there is none
  std::string why_no_products;            ///< one line where there is none
  std::vector<BaselineProduct> products;  ///< on hardware only
  std::uint64_t products_refused =
      0;                              ///< by the library, each with its reason in `left_out`; not in the file
  std::vector<std::string> left_out;  ///< "name: why", instructions of the architecture that it could not run
};

/// Every instruction of `architecture` whose name contains one of `filters`; of wgmma and tcgen05 the one
/// with `n`. `out` has provenance and tiles.
void record_baseline(const Architecture& architecture, int n, const std::vector<std::string>& filters,
                     const Backend& backend, Progress& progress, Baseline& out);

/// Products of cuBLASLt into `out`, or why there are none; of the usual problems where there are no others.
void record_products(const device::DeviceInfo& gpu, const std::vector<GemmProblem>& problems, Baseline& out);

std::string to_json(const Baseline& baseline);
/// InputError "<file>: field: found ..., allowed: ..." for anything else than what to_json() writes.
Baseline baseline_of_json(std::string_view text, const std::string& file);

/// One changed input class of an instruction, with its first dot product that differs.
struct BaselineChange {
  Instruction instruction;
  std::uint64_t dots = 0, differing = 0;  ///< differing 0: the inputs themselves differ
  Mismatch first;     ///< expected: OLD, found: NEW; without inputs where they can't be made again here
  std::string model;  ///< "as OLD", "as NEW", "0x... as neither"; empty: its inputs can't be made again here
  std::string explain;  ///< a command that shows this dot product; empty: can't be given
};

/// Changed instructions that one sentence explains, or fails to explain.
struct BaselineCause {
  /// "NEW is the model with F 25 -> 24, OLD is the model", or why there is no such sentence.
  std::string text;
  bool explained = false;
  std::vector<std::string> instructions;
};

struct BaselineProductChange {
  std::string problem;
  std::string algorithm;  ///< "tile 15 -> 18, split_k 1 -> 4"; empty: the same
  std::uint64_t elements = 0, differing = 0;
  /// The fields of the plan that changed, "slices 4 -> 6"; both plans where one is unknown.
  std::string plan = {};
};

struct BaselineDiff {
  std::vector<std::string> provenance;   ///< "driver: 580.1, was 570.2"
  std::vector<std::string> gone, added;  ///< names of instructions
  std::vector<BaselineChange> changes;
  std::vector<BaselineCause> causes;  ///< of all changes; explained ones first, then by instructions
  std::vector<BaselineProductChange> product_changes;
  std::uint64_t instructions = 0, dots = 0, products = 0;  ///< compared

  /// Another algorithm that gives the same bits is no difference.
  [[nodiscard]] bool same() const;
};

/// The inputs of one input class, made again; none where this program makes other ones than `of` had, or
/// does not know its architecture.
std::optional<TileBatch> inputs_again(const Baseline& of, const Instruction& instruction,
                                      const BaselineFamily& family);

/// Why an instruction gives other bits in `after` than in `before`, both of its `changed` classes. The model
/// is one of the two; some mutant of its datapath, another F, or another generation gives every bit of the
/// other one, in all classes. `instructions` is left empty.
BaselineCause cause_of(const Baseline& of, const BaselineInstruction& before,
                       const BaselineInstruction& after);

/// InputError when they were not made of the same seed, tiles, generator and architecture.
BaselineDiff diff_baselines(const Baseline& before, const Baseline& after);

/// The one of `items` whose `name` (a field, or a function of an item) is `wanted`; null: there is none.
template <typename Item, typename Name>
const Item* find_where(const std::vector<Item>& items, const Name& name, const std::string& wanted) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Item& each) { return std::invoke(name, each) == wanted; });
  return found == items.end() ? nullptr : &*found;
}

/// The part of it that products are.
void diff_products(const Baseline& before, const Baseline& after, BaselineDiff& out);

std::string to_json(const BaselineDiff& diff);
/// A table per cause with an example each; bad where anything changed. The report keeps `diff`.
report::Report report_of(const BaselineDiff& diff);
/// What was recorded into `file`. The report keeps `baseline`.
report::Report report_of(const Baseline& baseline, const std::string& file);

}  // namespace mmaudit::checks
