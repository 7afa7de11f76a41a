#pragma once
// Which byte of which lane's register is which scale of a block-scaled mma. Source: PTX ISA 9.0, "Block
// Scaling for mma.sync" (pairs, lanes and bytes); rows of a pair: CUTLASS, mma_traits_sm120.hpp, SFALayout.
#include <cstdint>

#include "mmaudit/config.hpp"
#include "mmaudit/scale_layout.hpp"

namespace mmaudit {

/// The immediates {byte-id, thread-id} of one operand.
struct ScaleSelector {
  int byte = 0;    ///< of the first scale; the others follow
  int thread = 0;  ///< of A the pair of lanes in each quad, of B the lane
  constexpr bool operator==(const ScaleSelector&) const = default;
};

/// Selectors that exist for an operand with 1, 2 or 4 scales per line (scale_vec), and the one with this
/// number. Source: the table of valid values there.
MMAUDIT_HD constexpr int scale_selectors(ScaleOwner owner, int blocks) {
  return 4 / blocks * (owner == ScaleOwner::a ? 2 : 4);
}
MMAUDIT_HD constexpr ScaleSelector scale_selector(ScaleOwner owner, int blocks, int number) {
  const int threads = owner == ScaleOwner::a ? 2 : 4;
  return {number / threads * blocks, number % threads};
}

/// Bytes that no selector names: NaN in every scale format, so that reading one shows in every D.
inline constexpr std::uint32_t kUnreadScale = 0xFF;

/// The row of A, or the column of B, whose scales `lane` holds; -1: the instruction does not read its
/// register.
MMAUDIT_HD constexpr int scale_line(ScaleOwner owner, ScaleSelector selector, int lane) {
  const int of_quad = lane % 4, quad = lane / 4;
  if (owner == ScaleOwner::b) return of_quad == selector.thread ? quad : -1;
  return of_quad / 2 == selector.thread ? quad + 8 * (of_quad % 2) : -1;
}

/// The register of `lane`. scale(line, block) is a byte: of a row of A or a column of B, and of a block of k.
template <typename Scale>
MMAUDIT_HD constexpr std::uint32_t scale_word(ScaleOwner owner, ScaleSelector selector, int blocks, int lane,
                                              const Scale& scale) {
  const int line = scale_line(owner, selector, lane);
  std::uint32_t word = 0;
  for (int byte = 0; byte < 4; ++byte) {
    const int block = byte - selector.byte;
    const bool read = line >= 0 && block >= 0 && block < blocks;
    word |= (read ? static_cast<std::uint32_t>(scale(line, block)) : kUnreadScale) << (8 * byte);
  }
  return word;
}

}  // namespace mmaudit
