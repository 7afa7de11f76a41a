// mma and mma.sp: one shape of each type that the tensor cores have. FP8, s4 and u4 are not here: on the GPUs
// that this build knows, ptxas spells them out in other instructions.
#include "screen/screen.cuh"
#include "sweeps/matrix/mma.cuh"

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
// Operands may come from shared memory by ldmatrix before each step.

/// One of the 8 x 8 matrices of ldmatrix: rows of 16 bytes, of which each lane gets a word, lane after lane.
/// So an image of registers, register after register, is one matrix after another.
constexpr int kMatrixBytes = 128, kMatrixRow = 16;

/// Body of a Line of ptx/ whose operands have registers of 32 bits.
template <typename Line>
struct LoadingMma;

#ifdef __CUDACC__

template <typename Line>
struct LoadingMma {
  static constexpr Instruction kIs = Line::kInstruction;
  static constexpr bool kExists = device::kTargetCapability >= kIs.min_compute_capability;
  static constexpr int kLanes = kWarpLanes, kMostThreads = 0;

  template <int kChains>
  struct Chains {
    using F = device::Fragments<Line>;
    static constexpr int kA = F::kRegistersA, kB = F::kRegistersB;
    struct Step {
      std::uint32_t a[kA], b[kB];
    };
    std::uint32_t of_a, of_b;  ///< shared addresses of the row that the lane names
    std::uint32_t metadata[1] = {};
    device::RegisterOf<kIs.c> d[kChains][F::kRegistersC];

    __device__ __forceinline__ Chains(const sweeps::TimedArgs& args, const sweeps::Place& at) {
      extern __shared__ __align__(128) unsigned char tiles[];
      if constexpr (F::kSparse) sweeps::read_image(args.metadata, 0, at.lane, metadata);
      unsigned char* const own = tiles + at.in_block * (kA + kB) * kMatrixBytes;
      of_a = keep<kA>(own, args.a, at.lane);
      of_b = keep<kB>(own + kA * kMatrixBytes, args.b, at.lane);
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      // Loaded one step ahead: its latency is not part of a step.
      static_assert(kCopies % 2 == 0);
      Step loaded[2];
      load(loaded[0]);
      sweeps::repeat<kChains, kCopies>(steps, [&](int copy, int chain) {
        if (chain == 0) load(loaded[(copy + 1) % 2]);
        const Step& now = loaded[copy % 2];
        if constexpr (F::kSparse)
          device::mma_sp<Line, 0>(d[chain], now.a, now.b, metadata[0]);
        else
          device::mma<Line>(d[chain], now.a, now.b);
      });
    }

   private:
    /// The image in shared memory; the address of the row that the lane names to ldmatrix.
    template <int kRegisters>
    static __device__ __forceinline__ std::uint32_t keep(unsigned char* shared, const void* image, int lane) {
      std::uint32_t words[kRegisters];
      sweeps::read_image(image, 0, lane, words);
#pragma unroll
      for (int r = 0; r < kRegisters; ++r)
        reinterpret_cast<std::uint32_t*>(shared)[r * kWarpLanes + lane] = words[r];
      return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) +
             static_cast<std::uint32_t>(lane % (8 * kRegisters) * kMatrixRow);
    }
    __device__ __forceinline__ void load(Step& step) const {
      device::load_matrices<false>(step.a, of_a);
      device::load_matrices<false>(step.b, of_b);
    }
  };
};

#endif

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
