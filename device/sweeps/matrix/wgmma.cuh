#pragma once
// wgmma: a chain of one instruction in each warpgroup. The instruction is the text of ptx/wgmma.cuh or
// ptx/wgmma_sp.cuh; the loop around it commits after a group of instructions, all on the same accumulators.
#include "ptx/wgmma_sp.cuh"
#include "sweeps/engine/timed.cuh"
#include "sweeps/matrix/matrix_benchmark.hpp"
#ifdef __CUDACC__
#include "kernels/shared_layout.hpp"
#endif

namespace mmaudit::sweeps {

// clang-format off
inline constexpr AxisSpec
    kColumnsAxis = {.name = "n", .number = true, .least = 8, .most = 256, .words = "8,16,32,64,128,256",
                    .usual = "[8,16,32,64,128,256]", .quick = "[8,64,256]", .meaning = "columns of a wgmma"},
    kSourceAxis = {.name = "a", .words = "shared,registers", .usual = "[shared,registers]",
                   .quick = "[shared,registers]", .meaning = "where A of a wgmma comes from"},
    kGroupAxis = {.name = "group", .number = true, .least = 1, .most = 8, .words = "1,8", .usual = "[8]",
                  .quick = "[8]", .meaning = "wgmma between two commits"};
// clang-format on

// k of the images is 32 bytes long whatever the type, and 64 of a sparse instruction's B. Source: PTX ISA
// 9.0, shapes of wgmma.mma_async.
inline constexpr int kBytesA = 64 * 32;
constexpr int bytes_per_column(bool sparse) { return sparse ? 64 : 32; }

/// Accumulators, and the loop for each number of instructions between two commits. Of a Line and n.
template <typename Line, int kN>
struct Chain;
/// Body of a Chain.
template <typename Chain, bool kRegistersA>
struct Wgmma;

#ifdef __CUDACC__

using device::WgmmaA;

constexpr Instruction with_n(Instruction instruction, int n) {
  instruction.n = static_cast<std::int16_t>(n);
  return instruction;
}

template <typename Chain, bool kRegistersA>
struct Wgmma {
  static constexpr bool kExists = device::kTargetHasWgmma;
  static constexpr bool kSparse = is_sparse(Chain::kInstruction.op);
  static constexpr int kLanes = kWarpgroupLanes;
  /// Of the warpgroups that have registers enough, with 40 beside the accumulators.
  static constexpr int kMostThreads = (Chain::kLive > 80 ? 2 : 4) * kWarpgroupLanes;
  static constexpr int kColumnBytes = bytes_per_column(kSparse);

  template <int kChains>
  struct Chains {
    static_assert(kChains == 1);
    static constexpr int kN = Chain::kInstruction.n, kRegisters = Chain::kRegisters;
    WgmmaA a;
    std::uint64_t b, metadata = 0;
    std::uint32_t d[kRegisters];

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      extern __shared__ __align__(128) unsigned char tiles[];
      const int tile = at.in_block % args.tiles, lane = at.lane;
      unsigned char* shared_a = tiles + at.in_block * (kBytesA + kN * kColumnBytes);
      unsigned char* shared_b = shared_a + kBytesA;
      const auto* image_a = static_cast<const unsigned char*>(args.a) + tile * kBytesA;
      const auto* image_b = static_cast<const unsigned char*>(args.b) + tile * kN * kColumnBytes;
      for (int i = 16 * lane; i < kBytesA; i += 16 * kWarpgroupLanes)
        *reinterpret_cast<uint4*>(shared_a + i) = *reinterpret_cast<const uint4*>(image_a + i);
      for (int i = 16 * lane; i < kN * kColumnBytes; i += 16 * kWarpgroupLanes)
        *reinterpret_cast<uint4*>(shared_b + i) = *reinterpret_cast<const uint4*>(image_b + i);
      // The reduction leaves its result in a uniform register, where wgmma wants it: else ptxas moves the
      // descriptors there before every single instruction, 16 to 20 cycles that N < 64 does not hide.
      const auto descriptor = [](const unsigned char* shared, int cores) {
        const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
        return device::shared_descriptor(__reduce_max_sync(~0U, address), device::kNextAlongK,
                                         device::next_along_mn(cores));
      };
      if constexpr (kRegistersA) {
        const auto* r = reinterpret_cast<const std::uint32_t*>(image_a) + lane;
        a.low = r[0] | std::uint64_t{r[kWarpgroupLanes]} << 32;
        a.high = r[2 * kWarpgroupLanes] | std::uint64_t{r[3 * kWarpgroupLanes]} << 32;
      } else {
        a.low = descriptor(shared_a, device::kDenseCores);
      }
      b = descriptor(shared_b, kColumnBytes / device::kLineBytes);
      if constexpr (kSparse)
        metadata =
            std::uint64_t{static_cast<const std::uint32_t*>(args.metadata)[tile * kWarpgroupLanes + lane]}
            << 32;
      const auto* image_c =
          static_cast<const std::uint32_t*>(args.c) + tile * kRegisters * kWarpgroupLanes + lane;
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) d[i] = image_c[i * kWarpgroupLanes];
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    template <int kGroup>
    __device__ __forceinline__ void run(int steps) {
      const std::uint64_t steps_and_metadata = static_cast<std::uint32_t>(steps) | metadata;
      if constexpr (kRegistersA)
        Chain::template from_registers<kGroup>(d, a, b, steps_and_metadata);
      else
        Chain::template from_shared<kGroup>(d, a, b, steps_and_metadata);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      auto* out = static_cast<std::uint32_t*>(args.d) + at.slot * kRegisters * kWarpgroupLanes + at.lane;
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) out[i * kWarpgroupLanes] = d[i];
      return false;
    }
  };
};

#endif

/// Everything but family, place, the axes after n, and kernel.
inline Benchmark wgmma_benchmark(const Instruction& instruction) {
  Benchmark benchmark = matrix_benchmark(instruction);
  benchmark.axes = {kScopeAxis, kInitAxis, kWarpsAxis, kColumnsAxis};
  benchmark.exists = [](const Point& point) {
    const int warps = point.number("warps");
    return warps % kWarpgroupWarps == 0 && warps <= 4 * kWarpgroupWarps;
  };
  benchmark.setup = [setup = benchmark.setup, sparse = is_sparse(instruction.op)](const Point& point,
                                                                                  Workbench* bench) {
    Setup with_tiles = setup(point, bench);
    with_tiles.shared_bytes =
        point.number("warps") / kWarpgroupWarps * (kBytesA + point.number("n") * bytes_per_column(sparse));
    return with_tiles;
  };
  return benchmark;
}

/// The kernel of a Line: kSingle: also with a commit after each instruction. n changes no opcode, so the
/// census takes one.
template <typename Line, bool kSingle>
TimedKernel wgmma_kernel(const Point& point) {
  const auto of_n = [&]<int kN>(std::integral_constant<int, kN>) -> TimedKernel {
    const bool registers = point.axis("a") == "registers";
    if (point.axis("group") == "8")
      return registers ? timed_kernel<Wgmma<Chain<Line, kN>, true>, 1, 8>()
                       : timed_kernel<Wgmma<Chain<Line, kN>, false>, 1, 8>();
    if constexpr (kSingle)
      return registers ? timed_kernel<Wgmma<Chain<Line, kN>, true>, 1, 1>()
                       : timed_kernel<Wgmma<Chain<Line, kN>, false>, 1, 1>();
    return {};
  };
  switch (point.number("n")) {
#ifndef MMAUDIT_CENSUS
    case 8:
      return of_n(std::integral_constant<int, 8>());
    case 16:
      return of_n(std::integral_constant<int, 16>());
    case 32:
      return of_n(std::integral_constant<int, 32>());
    case 128:
      return of_n(std::integral_constant<int, 128>());
    case 256:
      return of_n(std::integral_constant<int, 256>());
#endif
    case 64:
      return of_n(std::integral_constant<int, 64>());
    default:
      return {};
  }
}

template <typename Line, bool kSingle = false>
Benchmark wgmma_benchmark() {
  Benchmark benchmark = wgmma_benchmark(Line::kInstruction);
  benchmark.axes.insert(benchmark.axes.end(), {kSourceAxis, kGroupAxis});
  benchmark.kernel = wgmma_kernel<Line, kSingle>;
  return benchmark;
}

}  // namespace mmaudit::sweeps

// X for a list of lines (k, D and C, A, B, modifiers): a Line, and a Chain for each n that is timed.
#define MMAUDIT_TIMED_WGMMA_NAME(K, D, A, B, MODIFIERS) Wgmma_k##K##_##D##_##A##_##B
#define MMAUDIT_TIMED_WGMMA_LINE(...) \
  MMAUDIT_TIMED_LINE(wgmma, MMAUDIT_TIMED_DENSE, MMAUDIT_TIMED_WGMMA_NAME(__VA_ARGS__), __VA_ARGS__)
#define MMAUDIT_TIMED_WGMMA_SP_NAME(K, D, A, B, MODIFIERS) WgmmaSp_k##K##_##D##_##A##_##B
#define MMAUDIT_TIMED_WGMMA_SP_LINE(...) \
  MMAUDIT_TIMED_LINE(wgmma_sp, MMAUDIT_TIMED_SPARSE, MMAUDIT_TIMED_WGMMA_SP_NAME(__VA_ARGS__), __VA_ARGS__)
#define MMAUDIT_TIMED_LINE(OP, TEXT, NAME, ...) MMAUDIT_TIMED_STRUCTS(OP, TEXT, NAME, __VA_ARGS__)
#define MMAUDIT_TIMED_STRUCTS(OP, TEXT, NAME, K, D, A, B, MODIFIERS)                                    \
  struct NAME {                                                                                         \
    static constexpr Instruction kInstruction =                                                         \
        device::listed_instruction(Op::OP, 64, 0, K, Format::D, Format::A, Format::B, Format::D, false, \
                                   Multiply::MMAUDIT_TIMED_MULTIPLY_##MODIFIERS);                       \
  };                                                                                                    \
  MMAUDIT_TIMED_CHAINS_##D(TEXT, NAME, "k" #K "." #D "." #A "." #B MMAUDIT_TIMED_END_##MODIFIERS,       \
                           MMAUDIT_TIMED_SHARED_##MODIFIERS, MMAUDIT_TIMED_REGISTERS_##MODIFIERS)

// The modifiers: what stands for a product, the end of the types, and the immediates with A from shared
// memory and from registers.
// clang-format off
#define MMAUDIT_TIMED_MULTIPLY_any_major  product
#define MMAUDIT_TIMED_END_any_major       ""
#define MMAUDIT_TIMED_SHARED_any_major    ", 1, 1, 0, 0"
#define MMAUDIT_TIMED_REGISTERS_any_major ", 1, 1, 0"
#define MMAUDIT_TIMED_MULTIPLY_k_major    product
#define MMAUDIT_TIMED_END_k_major         ""
#define MMAUDIT_TIMED_SHARED_k_major      ", 1, 1"
#define MMAUDIT_TIMED_REGISTERS_k_major   ", 1, 1"
#define MMAUDIT_TIMED_MULTIPLY_none       product
#define MMAUDIT_TIMED_END_none            ""
#define MMAUDIT_TIMED_SHARED_none         ""
#define MMAUDIT_TIMED_REGISTERS_none      ""
#define MMAUDIT_TIMED_MULTIPLY_bits       and_popc
#define MMAUDIT_TIMED_END_bits            ".and.popc"
#define MMAUDIT_TIMED_SHARED_bits         ""
#define MMAUDIT_TIMED_REGISTERS_bits      ""
// clang-format on

#ifndef __CUDACC__
#define MMAUDIT_TIMED_CHAINS_f32(...)
#define MMAUDIT_TIMED_CHAINS_f16(...)
#define MMAUDIT_TIMED_CHAINS_s32(...)
#else

// X(n, registers, ...) for each n that is timed.
// clang-format off
#ifdef MMAUDIT_CENSUS
#define MMAUDIT_TIMED_CHAINS_f32(...) MMAUDIT_TIMED_CHAIN(64, 32, __VA_ARGS__)
#define MMAUDIT_TIMED_CHAINS_f16(...) MMAUDIT_TIMED_CHAIN(64, 16, __VA_ARGS__)
#else
#define MMAUDIT_TIMED_CHAINS_f32(...) \
  MMAUDIT_TIMED_CHAIN(  8,  4, __VA_ARGS__) MMAUDIT_TIMED_CHAIN( 16,  8, __VA_ARGS__) \
  MMAUDIT_TIMED_CHAIN( 32, 16, __VA_ARGS__) MMAUDIT_TIMED_CHAIN( 64, 32, __VA_ARGS__) \
  MMAUDIT_TIMED_CHAIN(128, 64, __VA_ARGS__) MMAUDIT_TIMED_CHAIN(256, 128, __VA_ARGS__)
#define MMAUDIT_TIMED_CHAINS_f16(...) \
  MMAUDIT_TIMED_CHAIN(  8,  2, __VA_ARGS__) MMAUDIT_TIMED_CHAIN( 16,  4, __VA_ARGS__) \
  MMAUDIT_TIMED_CHAIN( 32,  8, __VA_ARGS__) MMAUDIT_TIMED_CHAIN( 64, 16, __VA_ARGS__) \
  MMAUDIT_TIMED_CHAIN(128, 32, __VA_ARGS__) MMAUDIT_TIMED_CHAIN(256, 64, __VA_ARGS__)
#endif
// clang-format on
#define MMAUDIT_TIMED_CHAINS_s32(...) MMAUDIT_TIMED_CHAINS_f32(__VA_ARGS__)

#define MMAUDIT_TIMED_CHAIN(N, R, TEXT, LINE, TYPES, SHARED, REGISTERS)                                     \
  template <>                                                                                               \
  struct Chain<LINE, N> {                                                                                   \
    static constexpr int kRegisters = R, kLive = R;                                                         \
    static constexpr Instruction kInstruction = with_n(LINE::kInstruction, N);                              \
    template <int kGroup>                                                                                   \
    static __device__ __forceinline__ void from_shared(std::uint32_t (&d)[R], WgmmaA a, std::uint64_t b,    \
                                                       std::uint64_t steps) {                               \
      MMAUDIT_TIMED_GROUP(TEXT, N, R, TYPES, "%0", SHARED)                                                  \
    }                                                                                                       \
    template <int kGroup>                                                                                   \
    static __device__ __forceinline__ void from_registers(std::uint32_t (&d)[R], WgmmaA a, std::uint64_t b, \
                                                          std::uint64_t steps) {                            \
      MMAUDIT_TIMED_GROUP(TEXT, N, R, TYPES, "{a0,a1,a2,a3}", REGISTERS)                                    \
    }                                                                                                       \
  };

#define MMAUDIT_TIMED_DENSE(N, R, TYPES, A, IMMEDIATES) MMAUDIT_WGMMA_TEXT(N, R, TYPES, A, IMMEDIATES)
#define MMAUDIT_TIMED_SPARSE(N, R, TYPES, A, IMMEDIATES) \
  MMAUDIT_WGMMA_SP_TEXT(N, R, TYPES, A, "0", IMMEDIATES)
#define MMAUDIT_EIGHT(TEXT) TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT
#define MMAUDIT_TIMED_GROUP(TEXT, N, R, TYPES, A, IMMEDIATES)     \
  int scale_d = 1;                                                \
  if constexpr (kGroup == 1)                                      \
    MMAUDIT_TIMED_LOOP(R, "1", TEXT(N, R, TYPES, A, IMMEDIATES)); \
  else                                                            \
    MMAUDIT_TIMED_LOOP(R, "8", MMAUDIT_EIGHT(TEXT(N, R, TYPES, A, IMMEDIATES)));

// Operands as MMAUDIT_WGMMA_TEXT wants them: %0, %1 A, %2 B's descriptor, %3 scale_d, %4 steps left and above
// them metadata, %5 on: d.
#define MMAUDIT_TIMED_LOOP(R, STEPS, TEXT)                              \
  asm volatile(                                                         \
      "{\n"                                                             \
      ".reg .pred accumulate, more;\n"                                  \
      ".reg .b32 a<4>, metadata, left;\n"                               \
      "mov.b64 {a0,a1}, %0;\n"                                          \
      "mov.b64 {a2,a3}, %1;\n"                                          \
      "mov.b64 {left,metadata}, %4;\n"                                  \
      "setp.ne.b32 accumulate, %3, 0;\n"                                \
      "AGAIN:\n"                                                        \
      "wgmma.fence.sync.aligned;\n" TEXT                                \
      "wgmma.commit_group.sync.aligned;\n"                              \
      "add.s32 left, left, -" STEPS                                     \
      ";\n"                                                             \
      "setp.gt.s32 more, left, 0;\n"                                    \
      "@more bra AGAIN;\n"                                              \
      "wgmma.wait_group.sync.aligned 0;\n"                              \
      "}"                                                               \
      : "+l"(a.low), "+l"(a.high), "+l"(b), "+r"(scale_d), "+l"(steps), \
        "+r"(d[0])MMAUDIT_ACC_##R(MMAUDIT_ACC_OPERAND)                  \
      :                                                                 \
      : "memory")

#endif
