#pragma once
// The parts of a product by wgmma that one warp feeds through the copy engine and warpgroups compute: stages of
// shared memory in rows of 128 bytes, swizzled, their barriers, and an instruction that is left in flight.
#include <cstdint>

#include "kernels/shared_layout.hpp"
#include "ptx/async_copy.cuh"
#include "ptx/wgmma.cuh"

// Registers of a thread, of 168 at the start: 64512 of 65536 in all with one feeding and two computing warpgroups.
#define MMAUDIT_GIVE_REGISTERS() asm volatile("setmaxnreg.dec.sync.aligned.u32 24;")
#define MMAUDIT_TAKE_REGISTERS() asm volatile("setmaxnreg.inc.sync.aligned.u32 240;")

// d = A * B + (scale_d ? d : 0) from shared memory, in flight until waited for: a static member function.
#define MMAUDIT_WGMMA_MULTIPLY(N, R, TYPES, IMMEDIATES)                                                     \
  static __device__ __forceinline__ void multiply(std::uint32_t(&d)[R], std::uint64_t a, std::uint64_t b,   \
                                                  int scale_d) {                                            \
    std::uint64_t high = 0;                                                                                 \
    int unused = 0;                                                                                         \
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %3, 0;\n" MMAUDIT_WGMMA_TEXT(          \
        N, R, TYPES, "%0", IMMEDIATES) "}"                                                                  \
                 : "+l"(a), "+l"(high), "+l"(b), "+r"(scale_d), "+r"(unused),                               \
                   "+r"(d[0]) MMAUDIT_ACC_##R(MMAUDIT_ACC_OPERAND)                                          \
                 :                                                                                          \
                 : "memory");                                                                               \
  }

namespace mmaudit::device {

inline constexpr int kStageRowBytes = 128;  ///< of a row of A or column of B; four instructions
inline constexpr int kStageAlign = 1024;    ///< where swizzled boxes start

/// Which stage is next, and the parity of its phase.
template <int kStages>
struct Ring {
  std::uint32_t stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Addresses of the stages and of two barriers for each.
template <int kStages, int kStageBytes>
struct StageMemory {
  static constexpr int kBytes = kStages * kStageBytes + kStageAlign + 2 * kStages * 8;
  std::uint32_t stages, full, empty;
  __device__ __forceinline__ explicit StageMemory(const unsigned char* memory) {
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
    stages = (start + kStageAlign - 1) / kStageAlign * kStageAlign;
    full = stages + kStages * kStageBytes;
    empty = full + kStages * 8;
  }
  /// By one thread; `readers` arrivals empty a stage.
  __device__ __forceinline__ void init(int readers) const {
    for (std::uint32_t stage = 0; stage < kStages; ++stage) {
      barrier_init(full + 8 * stage, 1);
      barrier_init(empty + 8 * stage, readers);
    }
    barrier_init_done();
  }
};

/// A matrix K-major in rows of 128 bytes, swizzled over 128 bytes: eight rows are 1024 bytes. Source: PTX ISA
/// 9.0, "Matrix Descriptor Format" of wgmma.mma_async.
__device__ __forceinline__ std::uint64_t swizzled_descriptor(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return shared_descriptor(address, kLineBytes, 8 * kStageRowBytes) | kSwizzle128;
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

}  // namespace mmaudit::device
