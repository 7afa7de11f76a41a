#pragma once
// Block-scaled products of 4-bit elements on a GPU: how operands are packed, and what the kernels need.
// Declarations without CUDA syntax.
#include <cstdint>
#include <optional>

#include "mmaudit/dot.hpp"
#include "model/raw_product.hpp"

namespace mmaudit::device {

inline constexpr int kGroupDepth = 64;  ///< products of a step, which is an instruction
inline constexpr int kMostScales = 4;   ///< of a row or column in a step

/// A grouped datapath. The numbers of an element's step are integers times its unit, the product of two
/// units of its row and its column.
struct GroupCore {
  DotSpec spec;
  std::int32_t scales = 0;   ///< of a row or column in a step: 2 or 4
  std::int32_t spread = 0;   ///< binades between units and largest scale that alignment can't tell
  std::int32_t quantum = 0;  ///< exponent of 2^(E - F) beside that of the largest scales
  std::int32_t element = 0;  ///< exponent of the least product of two elements
};

/// A row of A or a column of B in one step. Zeros and scales that no alignment can be right for are marked:
/// the former with a unit that no sum reaches, the latter with none; a NaN scale with a `top` that is one.
struct alignas(16) GroupSide {
  std::int32_t scale[kMostScales];  ///< in units; 0 where it scales zeros
  std::uint32_t unit;               ///< high word of a binary64 whose low word is 0, as the next one
  std::uint32_t top;                ///< 2^(largest exponent of the scales); of B times 1.5 * 2^(52 - F)
  std::uint16_t code[kMostScales];  ///< ScaleCode
};

/// Packed operands: (matrices, steps, elements) sides, and the same of kGroupDepth signed bytes in units of
/// the least element, the 16 of a group in the place group_place() says.
struct PackedGroups {
  std::uint8_t* bytes = nullptr;
  GroupSide* sides = nullptr;
};
/// Groups of eight neighbours lie in different banks.
MMAUDIT_HD constexpr unsigned group_place(unsigned element, unsigned group) {
  return group ^ (element / 2 % 4);
}
/// Row sides and column sides of all matrices.
constexpr std::uint64_t packed_sides(std::uint64_t matrices, std::uint64_t elements, std::uint64_t k) {
  return matrices * padded(elements, kUnpackedPad) * (padded(k, kGroupDepth) / kGroupDepth);
}

/// nullopt when the kernels can't serve the datapath.
std::optional<GroupCore> group_core(const DotSpec& spec);

/// Start the packing of A and B, and the product.
void launch_group_packing(const GroupCore& core, const RawProduct& product, std::uint64_t matrices,
                          const PackedGroups& a, const PackedGroups& b, Stream stream = nullptr);
void launch_grouped_gemm(const GroupCore& core, const PackedGroups& a, const PackedGroups& b,
                         const GemmArgs& args);

}  // namespace mmaudit::device
