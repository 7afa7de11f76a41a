#pragma once
// What a tcgen05.mma is, from its qualifiers and its instruction descriptor, and where its D, A, scales and
// metadata lie in tensor memory. Sources: PTX ISA 9.0, 9.7.16.2.1 (Table 39), 9.7.16.4.2 (Tables 42 to 44),
// 9.7.16.10.5 (layouts A to G), 9.7.16.10.7, 9.7.16.10.8; lanes that the ISA shows as figures alone:
// CUTLASS 4 (mma_traits_sm100_frag.hpp).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::tmem {

/// The qualifiers of a tcgen05.mma.
struct MmaForm {
  MmaKind kind = MmaKind::f16;
  bool sparse = false, weight_stationary = false, block_scale = false, ashift = false;
  int cta_group = 1;
  int scale_vec = 0;         ///< 1, 2, 4; 0: not given
  int collector_buffer = 0;  ///< 0: A; 1 to 4: b0 to b3
  std::string collector = "discard";
};

/// Where the rows of D lie: row i of a CTA's `rows` rows at lane i % group + i / group * group_stride, and
/// the columns of D cut into `blocks` blocks, each `block_stride` lanes after the one before.
struct DLayout {
  char id;
  int m, cta_group;
  bool weight_stationary;
  int sparse;  ///< 0: dense alone, 1: sparse alone, 2: either
  int rows, group, group_stride, blocks, block_stride;
  bool half;  ///< half of the lanes: at lane 0 or 16
};

inline constexpr DLayout kDLayouts[] = {
    {'A', 256, 2, false, 2, 128, 128, 0, 1, 0, false},  //
    {'B', 128, 2, false, 0, 64, 64, 0, 2, 64, false},   //
    {'C', 128, 2, false, 1, 64, 16, 32, 1, 0, true},    //
    {'D', 128, 1, false, 2, 128, 128, 0, 1, 0, false},  //
    {'D', 128, 1, true, 2, 128, 128, 0, 1, 0, false},   //
    {'E', 64, 1, true, 2, 64, 64, 0, 2, 64, false},     //
    {'F', 64, 1, false, 2, 64, 16, 32, 1, 0, true},     //
    {'G', 32, 1, true, 2, 32, 32, 0, 4, 32, false},     //
};

/// A tcgen05.mma, understood.
struct Mma {
  MmaForm form;
  Instruction instruction;  ///< of the list, with M and N
  DLayout layout{};
  bool negate_a = false, negate_b = false, transpose_a = false, transpose_b = false;
  int scale_id_a = 0, scale_id_b = 0;
  int max_shift = 0;  ///< of B's columns

  [[nodiscard]] int rows() const { return layout.rows; }  ///< of A and D per CTA
  [[nodiscard]] bool dense4() const { return form.kind == MmaKind::mxf4 || form.kind == MmaKind::mxf4nvf4; }
  /// Columns of tensor memory that D takes.
  [[nodiscard]] int d_columns() const { return instruction.n / layout.blocks; }
};

/// What: reads an instruction descriptor. `target_i8`: the target has kind::i8. Errors: the refusal; empty
/// when `mma` was filled.
std::string understand(const MmaForm& form, std::uint32_t idesc, bool target_i8, Mma& mma);

/// The descriptor that understand() reads back; for programs and tests.
std::uint32_t instruction_descriptor(const Mma& mma);

/// The lane of row `row` of a CTA's part and block `block` of columns, counted from the lane of d-tmem.
constexpr int d_lane(const DLayout& layout, int row, int block) {
  return row % layout.group + row / layout.group * layout.group_stride + block * layout.block_stride;
}

/// Where the four bits of a group of metadata lie, counted from the address of the metadata. 8-bit elements:
/// a row's 16 groups are the two words of its lane. Wider ones: the lanes of 16 rows hold their first four
/// groups in the lower eight lanes and the last four in the upper; row r and row r + 8 share a word. Where
/// D's columns are cut into blocks, each block's lanes have a copy. Source: CUTLASS 4, tmem_e_frg and
/// tmem_e_frg_ws, which leave open whether the copies are needed.
struct MetadataPlace {
  int lane = 0, column = 0, shift = 0;
};
constexpr MetadataPlace metadata_place(int groups, int row, int group) {
  if (groups == 8) return {row % 8 + row / 16 * 16 + group / 4 * 8, 0, row / 8 % 2 * 16 + group % 4 * 4};
  return {row, group / 8, group % 8 * 4};
}

/// The mask of a zero-column-mask descriptor: which columns of B count as zero. Source: PTX ISA 9.0,
/// 9.7.16.4.3. Its Table 45 swaps "use" and "skip" against its examples; here the examples hold.
/// Errors: the refusal; empty when `zero` was filled with N entries and `shift` with the column shift.
std::string column_mask(const Mma& mma, std::uint64_t descriptor, std::vector<bool>& zero, int& shift);

}  // namespace mmaudit::tmem
