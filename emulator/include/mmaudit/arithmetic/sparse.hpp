#pragma once
// Structured sparsity: a row of A is cut into groups, of each a fixed number of elements is stored, and
// metadata says where they stand. Here metadata is canonical: for every stored element its position inside
// its group, a tensor (tiles, m, k/2) of bytes; the 32-bit registers of an instruction are packed from it.
// Source: PTX ISA 9.0, "Sparse matrix storage" of mma.sp and of wgmma.mma_async.sp.
#include <cstdint>
#include <span>
#include <string>

#include "mmaudit/config.hpp"
#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit {

/// `kept` of every `group` neighbours of a row are stored, ascending. `run` neighbours stay or go together.
/// Dense: 1 of 1.
struct Sparsity {
  std::int16_t kept = 1, group = 1, run = 1;
  constexpr bool operator==(const Sparsity&) const = default;
};

/// 2 of 4; tf32 1 of 2; 4-bit integers, and e2m1 of the kinds that pack two into a byte, 4 of 8 in pairs of
/// neighbours.
constexpr Sparsity sparsity_of(const Instruction& instruction) {
  if (!is_sparse(instruction.op)) return {};
  if (instruction.a == Format::tf32) return {1, 2, 1};
  if (instruction.a == Format::s4 || instruction.a == Format::u4) return {4, 8, 2};
  if (instruction.kind == MmaKind::mxf4 || instruction.kind == MmaKind::mxf4nvf4) return {4, 8, 2};
  return {2, 4, 1};
}

inline constexpr int kMostKept = 4;

/// True when `kept` positions are inside their group, ascending, and in whole aligned runs.
MMAUDIT_HD constexpr bool valid_group(const Sparsity& sparsity, const std::uint8_t* positions) {
  for (int i = 0; i < sparsity.kept; ++i) {
    if (positions[i] >= sparsity.group) return false;
    const int within = i % sparsity.run;
    if (within == 0 ? positions[i] % sparsity.run != 0 : positions[i] != positions[i - 1] + 1) return false;
    if (within == 0 && i > 0 && positions[i] <= positions[i - 1]) return false;
  }
  return true;
}

/// Every valid group, numbered: 6 where two units of four stay, 2 where one of two does.
MMAUDIT_HD constexpr int patterns(const Sparsity& sparsity) { return sparsity.kept == 1 ? 2 : 6; }

/// Writes the `kept` positions of pattern `number` (from 0, below patterns()).
MMAUDIT_HD constexpr void write_pattern(const Sparsity& sparsity, int number, std::uint8_t* positions) {
  int first = number, second = 0;
  if (sparsity.kept > 1) {
    // (0,1) (0,2) (0,3) (1,2) (1,3) (2,3)
    first = number < 3 ? 0 : number < 5 ? 1 : 2;
    second = number < 3 ? number + 1 : number < 5 ? number - 1 : 3;
  }
  for (int i = 0; i < sparsity.kept; ++i) {
    const int unit = i < sparsity.run ? first : second;
    positions[i] = static_cast<std::uint8_t>(unit * sparsity.run + i % sparsity.run);
  }
}

/// The four bits of a register that stand for one group: two 2-bit positions, the first one lower; of tf32,
/// whose elements are two 16-bit units each, 0100 or 1110.
MMAUDIT_HD constexpr std::uint32_t encode_group(const Sparsity& sparsity, const std::uint8_t* positions) {
  if (sparsity.kept == 1) return positions[0] == 0 ? 0x4U : 0xEU;
  const std::uint32_t first = positions[0] / static_cast<unsigned>(sparsity.run);
  const std::uint32_t second = positions[sparsity.run] / static_cast<unsigned>(sparsity.run);
  return first | second << 2;
}

/// Positions that four bits stand for; false, with nothing written, for bits that name no ascending
/// positions.
MMAUDIT_HD constexpr bool decode_group(const Sparsity& sparsity, std::uint32_t bits,
                                       std::uint8_t* positions) {
  for (int number = 0; number < patterns(sparsity); ++number) {
    std::uint8_t candidate[kMostKept] = {};
    write_pattern(sparsity, number, candidate);
    if (encode_group(sparsity, candidate) != bits) continue;
    for (int i = 0; i < sparsity.kept; ++i) positions[i] = candidate[i];
    return true;
  }
  return false;
}

/// Where the groups of one warp's 16 rows lie in its metadata registers. In a quad of lanes, `words` lanes
/// supply one register each, the lanes from selector * words on; quad g has rows g and g + 8.
struct MetadataLayout {
  int words = 1;           ///< 1, 2 or 4
  bool rows_share = true;  ///< a register holds 4 groups of row g low, 4 of row g + 8 high; else 8 of one row

  /// Values that the instruction's selector takes.
  [[nodiscard]] MMAUDIT_HD constexpr int selectors() const { return 4 / words; }
};

/// Source: the metadata figures of the PTX ISA 9.0, "Matrix fragments ... with sparse matrix A" and "Sparse
/// matrix storage" of wgmma.
constexpr MetadataLayout metadata_layout(const Instruction& instruction) {
  const Sparsity sparsity = sparsity_of(instruction);
  const int groups = instruction.stored_k() / sparsity.kept;
  const bool narrow = spec_of(instruction.a).value_bits() <= 8;
  return {groups / 4, !narrow};
}

/// Calls visit(row half, group, shift) for the eight groups of word `word` of a quad: its bits [shift, shift
/// + 4) hold `group` of row g + 8 * half.
template <typename Visit>
MMAUDIT_HD constexpr void for_each_group(const MetadataLayout& layout, int word, Visit&& visit) {
  for (int slot = 0; slot < 8; ++slot) {
    const int half = layout.rows_share ? slot / 4 : word % 2;
    const int group = layout.rows_share ? 4 * word + slot % 4 : 8 * (word / 2) + slot;
    visit(half, group, 4 * slot);
  }
}

/// One register: `rows(half)` points at the canonical metadata of row g + 8 * half.
template <typename Rows>
MMAUDIT_HD constexpr std::uint32_t pack_word(const Sparsity& sparsity, const MetadataLayout& layout, int word,
                                             const Rows& rows) {
  std::uint32_t packed = 0;
  for_each_group(layout, word, [&](int half, int group, int shift) {
    packed |= encode_group(sparsity, rows(half) + group * sparsity.kept) << shift;
  });
  return packed;
}

/// The inverse; false when some four bits are not valid.
template <typename Rows>
MMAUDIT_HD constexpr bool unpack_word(const Sparsity& sparsity, const MetadataLayout& layout, int word,
                                      std::uint32_t packed, const Rows& rows) {
  bool valid = true;
  for_each_group(layout, word, [&](int half, int group, int shift) {
    valid = decode_group(sparsity, packed >> shift & 0xFU, rows(half) + group * sparsity.kept) && valid;
  });
  return valid;
}

/// The row of B that stored element `stored` meets; `row` is the metadata of its row of A. Invalid positions
/// stay inside the group.
MMAUDIT_HD constexpr int selected_k(const Sparsity& sparsity, MetadataRule rule, const std::uint8_t* row,
                                    int stored) {
  const int group = stored / sparsity.kept, within = stored % sparsity.kept;
  int position = within;
  if (rule == MetadataRule::exchanged)
    position = row[group * sparsity.kept + sparsity.kept - 1 - within];
  else if (rule != MetadataRule::ignored)
    position = row[stored];
  position &= sparsity.group - 1;
  if (rule == MetadataRule::mirrored) position = sparsity.group - 1 - position;
  return group * sparsity.group + position;
}

/// A column of B as the stored elements of one row of A meet it: load_b(k) over the whole depth becomes
/// (stored) -> raw bits, what dot() reads. `metadata` is that row's, stored_k bytes.
template <typename LoadB>
struct Gathered {
  Sparsity sparsity;
  MetadataRule rule;
  FormatSpec format;
  const std::uint8_t* metadata;
  const LoadB& load_b;

  MMAUDIT_HD constexpr std::uint64_t operator()(int stored) const {
    const std::uint64_t bits = load_b(selected_k(sparsity, rule, metadata, stored));
    return rule == MetadataRule::whole_group && specials_beside(stored) ? format.magnitude_mask() : bits;
  }

 private:
  /// NaN or infinity in the group of `stored`, at a position that is not selected.
  [[nodiscard]] MMAUDIT_HD constexpr bool specials_beside(int stored) const {
    if (format.integer()) return false;
    const int first = stored / sparsity.kept * sparsity.kept;
    for (int k = 0; k < sparsity.group; ++k) {
      bool selected = false;
      for (int i = 0; i < sparsity.kept; ++i) selected = selected || metadata[first + i] == k;
      const std::uint64_t size = load_b(first / sparsity.kept * sparsity.group + k) & format.magnitude_mask();
      if (!selected &&
          size > (format.max_finite_bits() | ((std::uint64_t{1} << format.ignored_low_bits) - 1)))
        return true;
    }
    return false;
  }
};

/// Host only. Why metadata of `matrices` x `rows` x `stored` elements can't be used: the first group that is
/// not ascending positions inside it, with what is allowed; empty when it can. `of` is the word for a matrix.
std::string why_bad_metadata(const Sparsity& sparsity, std::span<const std::uint8_t> metadata,
                             std::uint64_t matrices, std::uint64_t rows, std::uint64_t stored,
                             const char* of = "matrix");

/// The same for tiles of `instruction`, (tiles, m, stored_k); dense instructions take none.
std::string why_bad_metadata(const Instruction& instruction, std::span<const std::uint8_t> metadata,
                             std::size_t tiles);

}  // namespace mmaudit
