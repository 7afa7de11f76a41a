// mma and mma.sp: one shape of each type that the tensor cores have. FP8, s4 and u4 are not here: on the GPUs
// that this build knows, ptxas spells them out in other instructions.
#include "sweeps/matrix/mma.cuh"

#include "screen/loading_mma.cuh"

// clang-format off
#define MMAUDIT_SCREENED_DENSE(X) \
  X(16, 8, 16, f32, f16,  f16,  f32) \
  X(16, 8, 16, f16, f16,  f16,  f16) \
  X(16, 8, 16, f32, bf16, bf16, f32) \
  X(16, 8,  8, f32, tf32, tf32, f32) \
  X(16, 8, 16, f64, f64,  f64,  f64)
#define MMAUDIT_SCREENED_INT(X) X(16, 8, 32, wrapping, s8, s8) X(16, 8, 32, wrapping, u8, u8)
#define MMAUDIT_SCREENED_BIT(X) X(16, 8, 256, and)
#define MMAUDIT_SCREENED_SP(X) \
  X(16, 8, 32, f32, f16,  f16,  f32) \
  X(16, 8, 32, f16, f16,  f16,  f16) \
  X(16, 8, 32, f32, bf16, bf16, f32) \
  X(16, 8, 16, f32, tf32, tf32, f32)
#define MMAUDIT_SCREENED_SP_INT(X) X(16, 8, 64, wrapping, s8, s8)
// clang-format on

#define MMAUDIT_KERNEL(...) add<MMAUDIT_MMA_NAME(__VA_ARGS__)>(kernels);
#define MMAUDIT_KERNEL_INT(...) add<MMAUDIT_MMA_INT_NAME(__VA_ARGS__)>(kernels);
#define MMAUDIT_KERNEL_BIT(...) add<MMAUDIT_MMA_BIT_NAME(__VA_ARGS__)>(kernels);
#define MMAUDIT_KERNEL_SP(...) add<MMAUDIT_MMA_SP_NAME(__VA_ARGS__)>(kernels);
#define MMAUDIT_KERNEL_SP_INT(...) add<MMAUDIT_MMA_SP_INT_NAME(__VA_ARGS__)>(kernels);

namespace mmaudit::screen {
namespace {

using device::listed_instruction;
MMAUDIT_SCREENED_DENSE(MMAUDIT_MMA_LINE)
MMAUDIT_SCREENED_INT(MMAUDIT_MMA_INT_LINE)
MMAUDIT_SCREENED_BIT(MMAUDIT_MMA_BIT_LINE)
MMAUDIT_SCREENED_SP(MMAUDIT_MMA_SP_LINE)
MMAUDIT_SCREENED_SP_INT(MMAUDIT_MMA_SP_INT_LINE)

/// Body of a Line: its operands stay in registers.
template <typename Line>
struct Mma;
#ifdef __CUDACC__
template <typename Line>
struct Mma : sweeps::MmaBody<Line, false> {};
#endif

constexpr int kWarps = 8, kChains = 4, kCopies = 8;

/// The same with operands that ldmatrix loads before each step, for all chains of the warp.
template <typename Line>
void add_loading(std::vector<ScreenKernel>& kernels) {
  constexpr Instruction kIs = Line::kInstruction;
  // A matrix of ldmatrix is a register of each lane.
  const int registers = (fragment_a(kIs).values / elements_per_register(kIs.a)) +
                        (fragment_b(kIs).values / elements_per_register(kIs.b));
  ScreenKernel kernel =
      screening_kernel<LoadingMma<Line>, kChains, kCopies>(kIs, false, kWarps, registers * kMatrixBytes);
  kernel.feed = Feed::ldmatrix;
  kernels.push_back(kernel);
}

template <typename Line>
void add(std::vector<ScreenKernel>& kernels) {
  constexpr Instruction kIs = Line::kInstruction;
  kernels.push_back(screening_kernel<Mma<Line>, kChains, kCopies>(kIs, false, kWarps, 0));
  if constexpr (register_bits(kIs.a) <= 32) add_loading<Line>(kernels);
}

}  // namespace

std::vector<ScreenKernel> mma_kernels() {
  std::vector<ScreenKernel> kernels;
  MMAUDIT_SCREENED_DENSE(MMAUDIT_KERNEL)
  MMAUDIT_SCREENED_INT(MMAUDIT_KERNEL_INT)
  MMAUDIT_SCREENED_BIT(MMAUDIT_KERNEL_BIT)
  MMAUDIT_SCREENED_SP(MMAUDIT_KERNEL_SP)
  MMAUDIT_SCREENED_SP_INT(MMAUDIT_KERNEL_SP_INT)
  return kernels;
}

}  // namespace mmaudit::screen
