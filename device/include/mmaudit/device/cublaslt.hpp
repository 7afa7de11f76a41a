#pragma once
// Matrix products by cuBLASLt, with what its heuristic chose. The library is looked for when asked, not
// linked.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/device/runner.hpp"

namespace mmaudit::device {

/// D (m, n) = A (m, k) B (k, n). `operand`: e4m3 (with D bf16), bf16 or f16 (D of the same), or tf32
/// (binary32 in memory, D f32).
struct LibraryProblem {
  Format operand = Format::none;
  bool fast = false;  ///< e4m3: sums stay in the tensor core
  std::uint64_t m = 0, n = 0, k = 0;
};
/// Of D.
Format output_of(const LibraryProblem& problem);
/// "e4m3-fast 64 x 64 x 16384".
std::string name_of(const LibraryProblem& problem);

struct LibraryAnswer {
  /// Of the algorithm: "id", "tile", "stages", "split_k", "reduction", "swizzle", "custom", "inner_shape",
  /// "cluster", "workspace"; numbers as in cublasLt.h. What the library lacks is left out.
  std::vector<std::pair<std::string, std::int64_t>> algorithm;
  std::vector<std::byte> d;  ///< (n, m) in storage width: column-major
};

/// Why there is no cuBLASLt here, in one line; empty where there is one.
std::string why_no_cublaslt();
/// "130002"; empty where there is none.
std::string cublaslt_version();

/// What: the first algorithm of the heuristic with a workspace of 32 MiB, alpha 1, beta 0. `a` (m, k) and
/// `b_transposed` (n, k): raw bits, row-major. Errors: EnvironmentError where the library is absent, has no
/// algorithm or fails.
LibraryAnswer run_cublaslt(const DeviceInfo& device, const LibraryProblem& problem, const void* a,
                           const void* b_transposed);

}  // namespace mmaudit::device
