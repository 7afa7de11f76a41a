#pragma once
// What computes a matrix instruction on which GPU, and how much of it per clock. The timing model, the census
// of sweeps, their ceilings and `list` say what stands here.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

/// Types of A and B that a tensor core treats alike: f16 is bf16 too, fp8 also the types of 6 and 4 bits that
/// an instruction takes beside it, fp4 what kind::mxf4 and kind::mxf4nvf4 multiply.
enum class CoreType : std::uint8_t { f16, tf32, fp8, fp4, int8, int4, b1, f64 };
/// Nothing for AMD's instructions.
std::optional<CoreType> core_type_of(const Instruction& instruction);

enum class UnitUse : std::uint8_t {
  native,     ///< an instruction of the tensor core for these types
  converted,  ///< one for other types or another operation, and conversions
  code,       ///< multiplications and additions without the tensor core
};
/// "native", "converted", "no tensor core".
std::string_view name_of(UnitUse use);

struct MatrixPath {
  UnitUse use = UnitUse::native;
  std::string_view opcode;  ///< of SASS, up to the first dot: "HMMA"; empty for code
  std::string_view source;
};
/// What: how a GPU computes an instruction. Errors: nothing where it lacks the instruction, and for AMD.
/// Source: the row's.
std::optional<MatrixPath> path_of(const Architecture& architecture, const Instruction& instruction);
/// The opcodes that any GPU computes an instruction with, the native one first.
std::vector<std::string_view> opcodes_of(const Instruction& instruction);

/// Dense multiply-adds per clock per SM.
struct CorePeak {
  std::string_view architecture;  ///< of its own compute capability alone: sm_80, not sm_87
  CoreType type;
  bool asynchronous;  ///< of wgmma and tcgen05; otherwise of mma, mma.sp and wmma
  int fma;
  std::string_view source;
  bool measured = false;  ///< what was reached, where nothing is published: no ceiling
};

namespace sources {
inline constexpr std::string_view kSunPeaks = "Sun et al. 2023, Table III, note";
inline constexpr std::string_view kTuringPeaks =
    "NVIDIA Turing GPU Architecture: 512 FMA of FP16 per clock and SM, INT8 twice, INT4 four times as many";
inline constexpr std::string_view kA40 =
    "NVIDIA A40: 149.7 and 74.8 TFLOPS, 299.3 and 598.7 TOPS with 84 SMs at 1.74 GHz; a GeForce halves sums "
    "of 32 "
    "bits (Sun IV)";
inline constexpr std::string_view kRtx4090 =
    "NVIDIA Ada GPU Architecture, RTX 4090, 128 SMs at 2.52 GHz: 330.3 and 660.6 TFLOPS with sums of 16 "
    "bits, 660.6 "
    "and 1321.2 TOPS";
inline constexpr std::string_view kH100 =
    "NVIDIA H100 Tensor Core GPU Architecture, H100 SXM5, 132 SMs: 989.4, 494.7, 1978.9 T(FL)OPS at 1.83 "
    "GHz, 66.9 "
    "of FP64 at 1.98 GHz";
inline constexpr std::string_view kH200Mma = "docs/results/h200-sweep, best of one multiprocessor";
inline constexpr std::string_view kLuoBlackwell =
    "P. Luo's note on Blackwell, Table 11: m * n * k of each of four cores";
inline constexpr std::string_view kRtx5090 =
    "NVIDIA RTX Blackwell GPU Architecture, RTX 5090, 170 SMs at 2.41 GHz: 419, 838 and 1676 TFLOPS with the "
    "shortest "
    "sums, 838 TOPS";
}  // namespace sources

// Not here, because no source gives them: b1 of Turing and Ada, TF32 of Ada with full rate and of Blackwell
// RTX, FP64 of both Blackwells and of GeForce, mma of sm_100.
// clang-format off
inline constexpr CorePeak kCorePeaks[] = {
    {"volta",         CoreType::f16,  false, 512,   "Raihan et al. 2019, II-D: eight cores, 4 x 4 x 4 each"},
    {"turing",        CoreType::f16,  false, 512,   sources::kTuringPeaks},
    {"turing",        CoreType::int8, false, 1024,  sources::kTuringPeaks},
    {"turing",        CoreType::int4, false, 2048,  sources::kTuringPeaks},
    {"ampere",        CoreType::f16,  false, 1024,  sources::kSunPeaks},
    {"ampere",        CoreType::tf32, false, 512,   sources::kSunPeaks},
    {"ampere",        CoreType::int8, false, 2048,  sources::kSunPeaks},
    {"ampere",        CoreType::int4, false, 4096,  sources::kSunPeaks},
    {"ampere",        CoreType::b1,   false, 16384, sources::kSunPeaks},
    {"ampere",        CoreType::f64,  false, 64,    "NVIDIA A100 Tensor Core GPU Architecture: 19.5 TFLOPS with 108 SMs at 1.41 GHz"},
    {"ga10x",         CoreType::f16,  false, 512,   sources::kA40},
    {"ga10x",         CoreType::tf32, false, 256,   sources::kA40},
    {"ga10x",         CoreType::int8, false, 1024,  sources::kA40},
    {"ga10x",         CoreType::int4, false, 2048,  sources::kA40},
    {"ga10x",         CoreType::b1,   false, 8192,  "Sun IV, m16n8k256 (8,1)", true},
    {"ada",           CoreType::f16,  false, 512,   sources::kRtx4090},
    {"ada",           CoreType::fp8,  false, 1024,  sources::kRtx4090},
    {"ada",           CoreType::int8, false, 1024,  sources::kRtx4090},
    {"ada",           CoreType::int4, false, 2048,  sources::kRtx4090},
    {"hopper",        CoreType::f16,  true,  2048,  sources::kH100},
    {"hopper",        CoreType::tf32, true,  1024,  sources::kH100},
    {"hopper",        CoreType::fp8,  true,  4096,  sources::kH100},
    {"hopper",        CoreType::int8, true,  4096,  sources::kH100},
    {"hopper",        CoreType::b1,   true,  32768, "16 times FP16; docs/results/h200-sweep, wgmma of b1, N = 256: 32688", true},
    {"hopper",        CoreType::f64,  false, 128,   sources::kH100},
    {"hopper",        CoreType::f16,  false, 1359,  sources::kH200Mma, true},
    {"hopper",        CoreType::tf32, false, 679,   sources::kH200Mma, true},
    {"hopper",        CoreType::int8, false, 2717,  sources::kH200Mma, true},
    {"hopper",        CoreType::b1,   false, 21732, sources::kH200Mma, true},
    {"blackwell",     CoreType::f16,  true,  4096,  sources::kLuoBlackwell},
    {"blackwell",     CoreType::tf32, true,  2048,  sources::kLuoBlackwell},
    {"blackwell",     CoreType::fp8,  true,  8192,  sources::kLuoBlackwell},
    {"blackwell",     CoreType::fp4,  true,  16384, sources::kLuoBlackwell},
    {"blackwell",     CoreType::int8, true,  8192,  sources::kLuoBlackwell},
    {"blackwell_rtx", CoreType::f16,  false, 512,   sources::kRtx5090},
    {"blackwell_rtx", CoreType::fp8,  false, 1024,  sources::kRtx5090},
    {"blackwell_rtx", CoreType::fp4,  false, 2048,  sources::kRtx5090},
    {"blackwell_rtx", CoreType::int8, false, 1024,  sources::kRtx5090},
};
// clang-format on

/// Null where no source says it.
constexpr const CorePeak* find_peak(std::string_view architecture, CoreType type, bool asynchronous) {
  for (const CorePeak& peak : kCorePeaks)
    if (peak.architecture == architecture && peak.type == type && peak.asynchronous == asynchronous)
      return &peak;
  return nullptr;
}
/// What: no GPU of this compute capability multiplies faster, dense FMA per clock per SM. Errors: 0 where
/// nothing is published.
int core_ceiling(int compute_capability, CoreType type);

/// A tensor core multiplies A (m x k) by B (k x n) per clock. k depends on the type.
struct TensorCores {
  std::string_view architecture;
  std::string_view before;  ///< the generation that ratios compare with; empty: none
  int per_sm, m, n;         ///< m, n 0: no source gives them
  std::string_view source;
};

inline constexpr TensorCores kTensorCores[] = {
    {"volta", "", 8, 4, 4, "Sun et al. 2023, Table 1; Raihan et al. 2019, II-D"},
    {"turing", "volta", 8, 4, 4, "Sun et al. 2023, Table 1"},
    {"ampere", "turing", 4, 8, 4, "P. Luo's note on Blackwell, Table 10; Sun et al. 2023, Table 1"},
    {"ga10x", "turing", 4, 0, 0, "NVIDIA Ampere GA102 GPU Architecture"},
    {"ada", "ga10x", 4, 0, 0, "NVIDIA Ada GPU Architecture"},
    {"hopper", "ampere", 4, 8, 4,
     "P. Luo's note on Blackwell, Table 10 (TF32, FP16, INT8); cores per SM: Sun et al. 2023, Table 1"},
    {"blackwell", "hopper", 4, 8, 8, "P. Luo's note on Blackwell, Table 11; cores per SM: 1.1.2"},
    {"blackwell_rtx", "ada", 4, 0, 0, "NVIDIA RTX Blackwell GPU Architecture"},
};

/// Null for AMD.
const TensorCores* find_tensor_cores(std::string_view architecture);

/// k of one tensor core: its published multiply-adds over m and n. Nothing where one of them is not
/// published, for binary64, whose m and n are others, for sparse instructions, and where the tensor core
/// lacks the types.
std::optional<int> core_depth(const Architecture& architecture, const Instruction& instruction);

}  // namespace mmaudit
