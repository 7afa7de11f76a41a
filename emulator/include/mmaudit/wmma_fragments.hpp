#pragma once
// Fragments of wmma, which the PTX ISA leaves open: what is known of them, GPU by GPU. hmma16: m16n16k16 of
// binary16 since Turing. Its HMMA instructions are the ones that mma.m16n8k8 and mma.m16n8k16 run: a lane
// holds of each quarter of a matrix what it holds of one of theirs. Volta's: volta.hpp.
#include <span>
#include <string_view>

#include "mmaudit/fragment.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/volta.hpp"

namespace mmaudit::hmma16 {

namespace detail {

/// Quarters of 8 x 8: a register of two neighbours along `along_rows` or along columns, then the one below,
/// then the one to the right; `copies` of all of it.
constexpr FragmentMap quarters(bool along_rows, int copies) {
  constexpr int kSide = 16, kQuarter = 8;
  FragmentMap map{
      .rows = kSide, .cols = kSide, .lanes = kWarpLanes, .values = 8 * copies, .lane = {}, .value = {}};
  map.lane[0] = along_rows ? Mode{4, 2, 0} : Mode{4, 0, 2};
  map.lane[1] = along_rows ? Mode{8, 0, 1} : Mode{8, 1, 0};
  map.value[0] = along_rows ? Mode{2, 1, 0} : Mode{2, 0, 1};
  map.value[1] = {2, kQuarter, 0};
  map.value[2] = {2, 0, kQuarter};
  map.value[3] = {copies, 0, 0};
  return map;
}

}  // namespace detail

/// A, and `copies` of it in the lane's values: wmma.load writes 16 values of which mma reads 8.
constexpr FragmentMap fragment_a(int copies) { return detail::quarters(false, copies); }
constexpr FragmentMap fragment_b(int copies) { return detail::quarters(true, copies); }
constexpr FragmentMap fragment_accumulator() { return detail::quarters(false, 1); }

}  // namespace mmaudit::hmma16

namespace mmaudit {

/// Known maps of one architecture.
struct WmmaFragments {
  std::string_view architecture, instructions;  ///< names; a space after each instruction
  Evidence evidence;
  std::string_view source;
  bool any_layout;  ///< else the maps are of A by rows, B by columns and accumulators by rows
  FragmentMap (*a)(volta::Layout);
  FragmentMap (*b)(volta::Layout);
  FragmentMap (*accumulator)(Format);

  [[nodiscard]] bool holds(const Instruction& instruction) const;
};

/// All that is known, one architecture after another.
std::span<const WmmaFragments> published_wmma_fragments();

/// What is known of `instruction` on an architecture, by its name; null: nothing.
const WmmaFragments* find_wmma_fragments(std::string_view architecture, const Instruction& instruction);

}  // namespace mmaudit
