#pragma once
// Whole matrix products, bfloat16 to binary32: what each step of a kernel's design brings, with cuBLAS as the
// ceiling. The kernels: device/sweeps/gemm/kernels/, a file per unit.
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

/// One kernel at one size.
struct GemmPoint {
  std::string kernel, what;
  int size = 0;         ///< m, n and k
  std::string skipped;  ///< why there is nothing; empty: measured
  Statistics seconds;   ///< by CUDA events
  double cycles = 0;    ///< first start to last stop, at the clock held; 0 where the kernel has no stamps
  double hz = 0;        ///< clock held; 0 likewise
  double longest_block = 0;  ///< cycles of %clock64 of the block that takes longest, mean of the launches
  int launches = 0;          ///< for that alone; 0: not asked for
  std::uint64_t compared = 0, differing = 0;  ///< sampled elements of D against the chain of the model
  bool order_known = true;                    ///< of k: else differing bits are no error

  [[nodiscard]] double flops() const {
    return seconds.median > 0 ? 2.0 * size * size * size / seconds.median : 0;
  }
};

struct GemmResult {
  Provenance provenance;
  std::string ceiling;  ///< the library, or why there is none
  std::vector<GemmPoint> points;

  [[nodiscard]] const GemmPoint* find(std::string_view kernel, int size) const;
  /// Points whose bits differ although the order of k is known.
  [[nodiscard]] int wrong() const;
};

inline constexpr char kCublas[] = "cuBLAS";
/// Every size is a multiple of this.
inline constexpr int kGemmMultiple = 256;
inline constexpr int kMostGemmSize = 16384;

struct GemmOptions {
  std::vector<int> sizes = {2048, 8192};
  RunRule rule;
  std::function<bool()> keep_going = [] { return true; };
};

/// Why a size is refused, as "found X, allowed: Y"; empty when it can be run.
std::string why_no_gemm_size(int size);

/// What: every kernel at every size, in rounds of one run each, so clock drift affects all kernels equally. D
/// is poisoned and 256 elements are compared with the model before and after. Errors: EnvironmentError.
GemmResult run_gemms(const device::DeviceInfo& device, const GemmOptions& options);

}  // namespace mmaudit::sweeps
