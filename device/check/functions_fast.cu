// The rows "/fast": this file alone is compiled with --use_fast_math, so the model is in another.
#include "check/hardware_function.cuh"

namespace mmaudit::device {
namespace {

__global__ void fast_functions(functions::Id id, const Pair* given, std::uint64_t first, std::uint32_t count,
                               std::uint32_t* result) {
  const bool quotient = id == functions::Id::fast_divide;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    result[i] = hardware_function(id, given != nullptr ? given[i] : operands_of(quotient, first + i));
}

}  // namespace

void launch_fast_functions(functions::Id id, const Pair* given, std::uint64_t first, std::uint32_t count,
                           std::uint32_t* result) {
  fast_functions<<<1024, 256>>>(id, given, first, count, result);
}

}  // namespace mmaudit::device
