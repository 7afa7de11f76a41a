#pragma once
// A chain of one wgmma in every warpgroup of one block a multiprocessor. The instruction is the text of
// ptx/wgmma.cuh or ptx/wgmma_sp.cuh; the loop around it commits after every kGroup instructions, all on the
// same accumulators.
#include <cstdint>

#include "kernels/shared_layout.hpp"
#include "ptx/wgmma_sp.cuh"
#include "sweeps/kernels/stopwatch.cuh"
#include "sweeps/kernels/wgmma_images.hpp"

namespace mmaudit::sweeps {

using device::WgmmaA;

/// Evaluated here: device code can't call the function.
template <typename Chain>
inline constexpr int kColumnBytes = bytes_per_column(kSparse<Chain>);

constexpr Instruction with_n(Instruction instruction, int n) {
  instruction.n = static_cast<std::int16_t>(n);
  return instruction;
}

template <typename Chain, bool kRegistersA, int kGroup>
__global__ void __launch_bounds__(kMostWarpgroups<Chain::kLive>* kWarpgroupLanes)
    wgmma_timed(const TimedArgs args) {
  if constexpr (!device::kTargetHasWgmma) {
    __trap();
  } else {
    constexpr int kN = Chain::kN, kRegisters = Chain::kRegisters;
    constexpr int kBytesBPerColumn = kColumnBytes<Chain>;
    extern __shared__ __align__(128) unsigned char memory[];
    const int lane = static_cast<int>(threadIdx.x) % kWarpgroupLanes;
    const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroupLanes;
    const int slot = static_cast<int>(blockIdx.x * blockDim.x) / kWarpgroupLanes + warpgroup;
    const int tile = warpgroup % args.tiles;

    unsigned char* shared_a = memory + warpgroup * (kBytesA + kN * kBytesBPerColumn);
    unsigned char* shared_b = shared_a + kBytesA;
    const auto* image_a = static_cast<const unsigned char*>(args.a) + tile * kBytesA;
    const auto* image_b = static_cast<const unsigned char*>(args.b) + tile * kN * kBytesBPerColumn;
    for (int i = 16 * lane; i < kBytesA; i += 16 * kWarpgroupLanes)
      *reinterpret_cast<uint4*>(shared_a + i) = *reinterpret_cast<const uint4*>(image_a + i);
    for (int i = 16 * lane; i < kN * kBytesBPerColumn; i += 16 * kWarpgroupLanes)
      *reinterpret_cast<uint4*>(shared_b + i) = *reinterpret_cast<const uint4*>(image_b + i);
    // The reduction leaves its result in a uniform register, where wgmma wants it: else ptxas moves the
    // descriptors there before every single instruction, 16 to 20 cycles that N < 64 does not hide.
    const auto descriptor = [](const unsigned char* shared, int cores) {
      const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
      return device::shared_descriptor(__reduce_max_sync(~0U, address), device::kNextAlongK,
                                       device::next_along_mn(cores));
    };
    WgmmaA a;
    if constexpr (kRegistersA) {
      const auto* r = reinterpret_cast<const std::uint32_t*>(image_a) + lane;
      a.low = r[0] | std::uint64_t{r[kWarpgroupLanes]} << 32;
      a.high = r[2 * kWarpgroupLanes] | std::uint64_t{r[3 * kWarpgroupLanes]} << 32;
    } else {
      a.low = descriptor(shared_a, device::kDenseCores);
    }
    const std::uint64_t b = descriptor(shared_b, kBytesBPerColumn / device::kLineBytes);
    std::uint64_t steps_and_metadata = static_cast<std::uint32_t>(args.iterations);
    if constexpr (kSparse<Chain>)
      steps_and_metadata |=
          std::uint64_t{static_cast<const std::uint32_t*>(args.metadata)[tile * kWarpgroupLanes + lane]}
          << 32;
    std::uint32_t d[kRegisters];
    const auto* image_c =
        static_cast<const std::uint32_t*>(args.c) + tile * kRegisters * kWarpgroupLanes + lane;
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) d[i] = image_c[i * kWarpgroupLanes];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");

    Stamp stamp;
    start(stamp);
    if constexpr (kRegistersA)
      Chain::template from_registers<kGroup>(d, a, b, steps_and_metadata);
    else
      Chain::template from_shared<kGroup>(d, a, b, steps_and_metadata);
    stop(stamp);

    auto* out = static_cast<std::uint32_t*>(args.d) + slot * kRegisters * kWarpgroupLanes + lane;
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) out[i * kWarpgroupLanes] = d[i];
    if (lane == 0) args.stamps[slot] = stamp;
  }
}

template <typename Chain, bool kRegistersA, int kGroup>
TimedKernel wgmma_timed_row() {
  return {.instruction = Chain::kInstruction,
          .ilp = 1,
          .a_from_registers = kRegistersA,
          .group = kGroup,
          .launch =
              [](const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) {
                wgmma_timed<Chain, kRegistersA, kGroup><<<blocks, threads, shared>>>(args);
              },
          .function = reinterpret_cast<const void*>(wgmma_timed<Chain, kRegistersA, kGroup>)};
}

}  // namespace mmaudit::sweeps

// Operands as MMAUDIT_WGMMA_TEXT wants them: %0, %1 A, %2 B's descriptor, %3 scale_d, %4 steps left and above
// them metadata, %5 on: d.
#define MMAUDIT_WGMMA_LOOP(R, STEPS, TEXT)                              \
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
#define MMAUDIT_EIGHT(TEXT) TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT
#define MMAUDIT_WGMMA_DENSE_TEXT(N, R, TYPES, A, IMMEDIATES) MMAUDIT_WGMMA_TEXT(N, R, TYPES, A, IMMEDIATES)
#define MMAUDIT_WGMMA_SPARSE_TEXT(N, R, TYPES, A, IMMEDIATES) \
  MMAUDIT_WGMMA_SP_TEXT(N, R, TYPES, A, "0", IMMEDIATES)
#define MMAUDIT_WGMMA_FORM(TEXT, N, R, TYPES, A, IMMEDIATES)      \
  int scale_d = 1;                                                \
  if constexpr (kGroup == 1)                                      \
    MMAUDIT_WGMMA_LOOP(R, "1", TEXT(N, R, TYPES, A, IMMEDIATES)); \
  else                                                            \
    MMAUDIT_WGMMA_LOOP(R, "8", MMAUDIT_EIGHT(TEXT(N, R, TYPES, A, IMMEDIATES)));

// X for a list of n: a struct an n. LINE is the family's struct; SHARED and REGISTERS end the text.
#define MMAUDIT_WGMMA_CHAIN(N, R, TEXT, LINE, TYPES, SHARED, REGISTERS)                                     \
  struct LINE##_n##N {                                                                                      \
    static constexpr int kN = N, kRegisters = R, kLive = R;                                                 \
    static constexpr Instruction kInstruction = with_n(LINE::kInstruction, N);                              \
    template <int kGroup>                                                                                   \
    static __device__ __forceinline__ void from_shared(std::uint32_t (&d)[R], WgmmaA a, std::uint64_t b,    \
                                                       std::uint64_t steps) {                               \
      MMAUDIT_WGMMA_FORM(TEXT, N, R, TYPES, "%0", SHARED)                                                   \
    }                                                                                                       \
    template <int kGroup>                                                                                   \
    static __device__ __forceinline__ void from_registers(std::uint32_t (&d)[R], WgmmaA a, std::uint64_t b, \
                                                          std::uint64_t steps) {                            \
      MMAUDIT_WGMMA_FORM(TEXT, N, R, TYPES, "{a0,a1,a2,a3}", REGISTERS)                                     \
    }                                                                                                       \
  };
#define MMAUDIT_WGMMA_CHAIN_ROWS(N, R, LINE, ...) \
  wgmma_timed_row<LINE##_n##N, false, 8>(), wgmma_timed_row<LINE##_n##N, true, 8>(),
#define MMAUDIT_WGMMA_SINGLE_ROWS(N, R, LINE, ...) \
  wgmma_timed_row<LINE##_n##N, false, 1>(), wgmma_timed_row<LINE##_n##N, true, 1>(),

// clang-format off
#ifdef MMAUDIT_CENSUS  // n changes no opcode
#define MMAUDIT_WGMMA_TIMED_N_f32(X, ...) X(64, 32, __VA_ARGS__)
#define MMAUDIT_WGMMA_TIMED_N_f16(X, ...) X(64, 16, __VA_ARGS__)
#else
#define MMAUDIT_WGMMA_TIMED_N_f32(X, ...) \
  X(8, 4, __VA_ARGS__) X(16, 8, __VA_ARGS__) X(32, 16, __VA_ARGS__) X(64, 32, __VA_ARGS__) \
  X(128, 64, __VA_ARGS__) X(256, 128, __VA_ARGS__)
#define MMAUDIT_WGMMA_TIMED_N_f16(X, ...) \
  X(8, 2, __VA_ARGS__) X(16, 4, __VA_ARGS__) X(32, 8, __VA_ARGS__) X(64, 16, __VA_ARGS__) \
  X(128, 32, __VA_ARGS__) X(256, 64, __VA_ARGS__)
#endif
// clang-format on

// A type: its row of kInstructions and a chain for every n of ACCUMULATORS (f32 or f16 registers).
#define MMAUDIT_WGMMA_ANY_TYPE(TEXT, OP, NAME, ACCUMULATORS, K, D, A, B, MULTIPLY, END, SHARED, REGISTERS) \
  struct NAME {                                                                                            \
    static constexpr Instruction kInstruction = device::instruction_row(                                   \
        Op::OP, 64, 0, K, Format::D, Format::A, Format::B, Format::D, false, Multiply::MULTIPLY);          \
  };                                                                                                       \
  MMAUDIT_WGMMA_TIMED_N_##ACCUMULATORS(MMAUDIT_WGMMA_CHAIN, TEXT, NAME, "k" #K "." #D "." #A "." #B END,   \
                                       SHARED, REGISTERS)
#define MMAUDIT_WGMMA_TYPE(...) MMAUDIT_WGMMA_ANY_TYPE(MMAUDIT_WGMMA_DENSE_TEXT, wgmma, __VA_ARGS__)
#define MMAUDIT_WGMMA_SP_TYPE(...) MMAUDIT_WGMMA_ANY_TYPE(MMAUDIT_WGMMA_SPARSE_TEXT, wgmma_sp, __VA_ARGS__)
