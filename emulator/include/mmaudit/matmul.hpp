#pragma once
// Whole matrix products: every element of D is a chain of instructions over K, in the order a kernel uses.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/epilogue.hpp"
#include "mmaudit/fast.hpp"
#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit {

/// One product, or `batch` of them. Matrices are row-major and contiguous, elements raw bits in their
/// format's storage width.
struct Matmul {
  std::uint64_t batch = 1, m = 0, n = 0, k = 0;
  const void* a = nullptr;  ///< (batch, m, k); of a sparse instruction (batch, m, k / 2), what is stored
  const void* b = nullptr;  ///< (batch, k, n)
  const void* c = nullptr;  ///< (batch, m, n) in the format of D; null: every element is +0
  void* d = nullptr;        ///< (batch, m, n), written: in the instruction's format or the epilogue's
  /// Block-scaled: one byte per scale_block elements of k, the last block may have fewer; null: every scale
  /// is 1.
  const std::uint8_t* scale_a = nullptr;   ///< (batch, m, blocks)
  const std::uint8_t* scale_b = nullptr;   ///< (batch, blocks, n)
  const std::uint8_t* metadata = nullptr;  ///< sparse, then required: (batch, m, k / 2), see sparse.hpp
  /// k after which the running sum is added to a binary32 total (to nearest even) and starts again from +0;
  /// a multiple of the instruction's k; 0: never.
  std::uint64_t promote = 0;
  /// Contiguous slices of K with a sum each, added in ascending order in binary32 to nearest even.
  std::uint64_t split_k = 1;
  /// Slices are cut at multiples of it, a multiple of the instruction's k; 0: the instruction's k.
  std::uint64_t slice_tile = 0;
  std::optional<Epilogue> epilogue;  ///< none: C starts the chain, as the instruction's own C does
};

/// Elements of A that a row stores: k, and k / 2 of a sparse instruction.
constexpr std::uint64_t stored_k(const Instruction& instruction, const Matmul& problem) {
  return is_sparse(instruction.op) ? problem.k / 2 : problem.k;
}
/// Scales of a row of A or a column of B; 0 without block scales.
constexpr std::uint64_t scale_blocks(const Instruction& instruction, const Matmul& problem) {
  const auto length = static_cast<std::uint64_t>(instruction.scale_block);
  return length == 0 ? 0 : detail::quotient_up(problem.k, length);
}

/// How to compute it; no option changes a bit of D.
struct MatmulOptions {
  unsigned threads = 1;            ///< 0: one per core
  bool fast = true;                ///< false: the plain core alone
  std::optional<SimdLevel> level;  ///< none: the widest; must be there, see has_simd_level()
  /// Called with the number of multiply-adds just finished, from one thread at a time.
  std::function<void(std::uint64_t)> progress;
};

/// The formats of D that an epilogue rounds to.
inline constexpr Format kEpilogueOutputs[] = {Format::f32, Format::f16, Format::bf16};

/// Why matmul() can't do this, as "field: found X, allowed: Y"; empty when it can. Of pointers it matters
/// only whether scales and metadata are there; what metadata says is not examined (why_bad_metadata() does
/// that).
std::string why_no_matmul(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

/// Bytes of A, B, C, D, scales, metadata and of everything matmul() allocates (never more than
/// kMatmulWorkspace); nullopt when they exceed 64 bits. `c` counts only where it is not null.
std::optional<std::uint64_t> matmul_bytes(const Instruction& instruction, const Matmul& problem,
                                          const MatmulOptions& options);
inline constexpr std::uint64_t kMatmulWorkspace = std::uint64_t{256} << 20;

/// What: D = A * B + C for any sizes, with the bits `datapath` says the hardware produces.
/// Shapes: as Matmul. K is padded with +0, whose scale is 1, to a multiple of the instruction's k; the M and
/// N of the instruction don't matter. Metadata: valid, see why_bad_metadata(). Order: ascending k, one
/// instruction after another; the C of each is the D of the one before. A slice of `split_k` has ceil(ceil(K
/// / slice_tile) / split_k) tiles of slice_tile. Where there is no epilogue, C starts the total of the first
/// slice with `promote`, its running sum without. Totals start from +0 otherwise. Range and rounding: any bit
/// pattern; same bits for any number of threads, any SimdLevel and the plain core. Errors: none when
/// why_no_matmul() is empty; std::bad_alloc or std::system_error where memory or threads run out.
void matmul(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
            const MatmulOptions& options = {});

}  // namespace mmaudit
