// Assembled for sm_100a and never run: that every line of ptx/tcgen05.cuh is an instruction there.
#include "ptx/tcgen05.cuh"

#include "kernels/tcgen05_descriptor.hpp"

namespace mmaudit::device {
namespace {

struct Arguments {
  std::uint32_t d, instruction, scale_a, scale_b;
  std::uint64_t a, b;
  bool accumulate;
};

}  // namespace

#define MMAUDIT_CALL(KIND) tcgen05_mma_##KIND(x.d, x.a, x.b, x.instruction, x.accumulate);
#define MMAUDIT_CALL_SCALED(KIND, VEC) \
  tcgen05_mma_##KIND##_##VEC(x.d, x.a, x.b, x.instruction, x.scale_a, x.scale_b, x.accumulate);

__global__ void every_line(const Arguments x) {
  if (threadIdx.x != 0) return;
  MMAUDIT_TCGEN05_KINDS(MMAUDIT_CALL)
  MMAUDIT_TCGEN05_SCALED(MMAUDIT_CALL_SCALED)
}

}  // namespace mmaudit::device
