#pragma once
// What is swept: instructions, each with the axes it has.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/model/instruction.hpp"
#include "mmaudit/sweeps/axes.hpp"

namespace mmaudit::sweeps {

inline constexpr int kWarpgroupWarps = 4;

/// Sparse instructions are of the kind of the dense ones, wmma's mma is of mma's.
enum class Kind : std::uint8_t {
  mma,
  wgmma,
  load_matrix,
  store_matrix,
  load_words,
  load_fragment,  ///< wmma.load
  store_fragment  ///< wmma.store
};

struct Subject {
  std::string
      name;  ///< of an instruction as mmaudit::name_of() prints it, n left open; "ldmatrix.x4.trans", ...
  Kind kind = Kind::mma;
  Instruction instruction;  ///< of mma and wgmma
  int words = 0;            ///< of loads and stores: 32-bit words a lane
  bool trans = false;
  bool promotes = false;          ///< sums are added to binary32 totals after `promote` of k
  std::vector<std::string> axes;  ///< names, in the order of axis_specs()
};

/// Every subject: one row a name. Other kinds of instruction join as rows here and kernels in sweeps/kernels.
std::vector<Subject> subjects();

/// The subjects whose name contains one of `parts` (all for none). Errors: InputError when there is none.
std::vector<Subject> select_subjects(const std::vector<std::string>& parts);

/// One multiprocessor; all of them; all of them for seconds, with power.
enum class Scope : std::uint8_t { sm, gpu, energy };
enum class Init : std::uint8_t { zero, random };

std::string_view name_of(Scope scope);

/// One point of a sweep.
struct Cell {
  Subject subject;
  Instruction instruction;  ///< n filled in
  Scope scope = Scope::sm;
  Init init = Init::zero;
  int warps = 1, ilp = 1, group = 8, ways = 1, promote = 0;
  bool a_from_registers = false;

  [[nodiscard]] bool whole_gpu() const { return scope != Scope::sm; }
  /// Of loads and stores: bytes between neighbouring lanes' addresses; 0 where the conflict can't be had.
  [[nodiscard]] int stride() const;
  /// Multiply-adds of one step of all warps of a block, or 0.
  [[nodiscard]] double fma() const;
  /// Bytes that one step of all warps of a block moves, or 0.
  [[nodiscard]] double bytes() const;
  /// (axis, value) in the order of subject.axes.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> axis_values() const;
};

/// What: the cross product of the axes that `subject` has, without the scope (sm) and without points that
/// cannot exist (wgmma takes whole warpgroups). The first axis varies slowest.
std::vector<Cell> cells_of(const Subject& subject, const std::vector<Axis>& axes);

}  // namespace mmaudit::sweeps
