#pragma once
// Canonical metadata in global memory to the register that a lane hands to a sparse instruction.
#include <cstdint>

#include "kernels/fragments.cuh"
#include "mmaudit/arithmetic/sparse.hpp"

namespace mmaudit::device {

/// What lanes that the selector does not name hand over: no valid group, so that an instruction that read it
/// would be seen.
inline constexpr std::uint32_t kUnreadMetadata = 0x5AF05AF0;

template <typename Line>
struct MetadataOf {
  static constexpr Sparsity kSparsity = sparsity_of(Line::kInstruction);
  static constexpr MetadataLayout kLayout = metadata_layout(Line::kInstruction);
  static constexpr int kStored = Line::kInstruction.stored_k();
};

/// The register of `lane` of a warp (or of a warpgroup, whose warps have 16 rows each) for selector
/// `selector`. `tile`: (m, stored k) canonical metadata.
template <typename Line>
MMAUDIT_HD_INLINE std::uint32_t load_metadata(const std::uint8_t* tile, int lane, int selector) {
  constexpr Sparsity kSparsity = MetadataOf<Line>::kSparsity;
  constexpr MetadataLayout kLayout = MetadataOf<Line>::kLayout;
  constexpr int kStored = MetadataOf<Line>::kStored;
  const int word = lane % 4 - selector * kLayout.words;
  if (word < 0 || word >= kLayout.words) return kUnreadMetadata;
  const int row = lane / 32 * 16 + lane % 32 / 4;
  return pack_word(kSparsity, kLayout, word, [&](int half) { return tile + (row + 8 * half) * kStored; });
}

}  // namespace mmaudit::device
