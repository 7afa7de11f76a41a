#pragma once
// One tcgen05.mma: operands out of shared and tensor memory, emulate(), D back into tensor memory.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tensor_memory/mma_shape.hpp"
#include "mmaudit/tensor_memory/tensor_memory.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::tmem {

/// Shared memory that a CTA of these GPUs can have: 227 KiB. Source: CUDA Programming Guide 13.0, table of
/// technical specifications, compute capability 10.x.
inline constexpr std::size_t kSharedBytes = std::size_t{227} * 1024;

struct Cta {
  TensorMemory memory;
  std::vector<std::uint8_t> shared = std::vector<std::uint8_t>(kSharedBytes);
  std::vector<bool> shared_written = std::vector<bool>(kSharedBytes);  ///< bytes that something wrote

  /// Whether something wrote all of these bytes; they lie inside.
  [[nodiscard]] bool written(std::size_t at, std::size_t bytes) const {
    const auto first = shared_written.begin() + static_cast<std::ptrdiff_t>(at);
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(bytes), [](bool one) { return one; });
  }
  void mark_written(std::size_t at, std::size_t bytes) {
    std::fill_n(shared_written.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
  }
};

struct MmaOperands {
  std::uint32_t d = 0;
  bool a_in_tensor_memory = false;
  std::uint64_t a = 0, b = 0;  ///< descriptors; or a an address
  std::uint32_t scale_a = 0, scale_b = 0, metadata = 0;
  bool read_d = true;
  int scale_d = 0;                      ///< D is taken times 2^-scale_d
  std::vector<std::uint32_t> disabled;  ///< lanes of D that are not written, 4 words per CTA; empty: none
  std::optional<std::uint64_t> mask;    ///< zero-column-mask-desc
};

/// What the instruction read and computed, one batch of one tile per CTA: rows of that CTA, all columns.
struct MmaResult {
  std::string refusal;  ///< empty: it ran
  std::vector<TileBatch> tiles;
  std::vector<std::byte> collected_a;  ///< A of the first CTA as a collector buffer holds it: before .ashift
};

/// Columns of tensor memory by what the instruction does with them, the same in every CTA.
struct MmaRegions {
  Region d, a, scale_a, scale_b, metadata;  ///< those it lacks have no columns
};
MmaRegions regions_of(const Mma& mma, const MmaOperands& operands);

/// What: runs `mma` on the CTA, or on the pair (the even one first) with .cta_group::2. D holds the bits that
/// emulate() gives for `datapath`; of a D of 16 bits the upper half of the word becomes zero.
/// Errors: a refusal, with tensor memory unchanged.
MmaResult run_mma(const Mma& mma, const MmaOperands& operands, const Datapath& datapath,
                  std::span<Cta* const> ctas);

}  // namespace mmaudit::tmem
