#include "mmaudit/device/functions.hpp"

#include <algorithm>

#include "check/hardware_function.cuh"
#include "model/near_tables.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr std::uint32_t kChunk = 1U << 28, kThreads = 256, kBlocks = 1024;

struct Differences {
  unsigned long long count;
  FunctionDifference first[kMostDifferences];
};

/// `given`: what the GPU gave; null: it is asked here.
__global__ void compare(const functions::Tables* tables, functions::Id id, bool quotient, std::uint64_t first,
                        std::uint32_t count, const std::uint32_t* given, Differences* found) {
  __shared__ functions::Tables near;
  load_tables(near, *tables);
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const Pair at = operands_of(quotient, first + i);
    const std::uint32_t hardware = given != nullptr ? given[i] : hardware_function(id, at);
    const std::uint32_t model = functions::evaluate(id, at.x, at.y, near);
    if (hardware == model) continue;
    const auto place = atomicAdd(&found->count, 1ULL);
    if (place < kMostDifferences) found->first[place] = {at.x, at.y, hardware, model};
  }
}

__global__ void ask(functions::Id id, const Pair* operands, std::uint32_t count, std::uint32_t* result) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    result[i] = hardware_function(id, operands[i]);
}

bool is_fast(const functions::Function& function) { return function.id >= functions::Id::fast_expf; }

void select(const DeviceInfo& device) {
  constexpr int kLeastCapability = 90;
  if (device.compute_capability < kLeastCapability)
    throw EnvironmentError("functions: found a GPU of compute capability " +
                           std::to_string(device.compute_capability) + ", allowed: 90 and later");
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
}

}  // namespace

std::vector<std::uint32_t> ask_function(const DeviceInfo& device, const functions::Function& function,
                                        const std::vector<std::uint32_t>& x,
                                        const std::vector<std::uint32_t>& y) {
  select(device);
  std::vector<Pair> pairs(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) pairs[i] = {x[i], y.empty() ? 0 : y[i]};
  const Buffer operands = uploaded(pairs), given(x.size() * sizeof(std::uint32_t));
  const auto count = static_cast<std::uint32_t>(x.size());
  if (is_fast(function))
    launch_fast_functions(function.id, operands.data<Pair>(), 0, count, given.data<std::uint32_t>());
  else
    ask<<<kBlocks, kThreads>>>(function.id, operands.data<Pair>(), count, given.data<std::uint32_t>());
  cuda_check(cudaGetLastError(), "asking the GPU for a function");
  std::vector<std::uint32_t> result(x.size());
  copy_out(result.data(), given.data(), x.size() * sizeof(std::uint32_t));
  return result;
}

FunctionCheck check_function(const DeviceInfo& device, const functions::Function& function) {
  select(device);
  const bool fast = is_fast(function), quotient = function.operands == 2;
  const std::uint64_t inputs = std::uint64_t{1} << function.bits;
  const Buffer tables(sizeof(functions::Tables)), found(sizeof(Differences));
  const Buffer given(fast ? kChunk * sizeof(std::uint32_t) : 0);
  copy_in(tables.data(), &functions::kUnit, sizeof(functions::Tables));
  cuda_check(cudaMemset(found.data(), 0, sizeof(Differences)), "clearing the differences");
  for (std::uint64_t first = 0; first < inputs; first += kChunk) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(inputs - first, kChunk));
    if (fast) launch_fast_functions(function.id, nullptr, first, count, given.data<std::uint32_t>());
    compare<<<kBlocks, kThreads>>>(tables.data<functions::Tables>(), function.id, quotient, first, count,
                                   given.data<std::uint32_t>(), found.data<Differences>());
    cuda_check(cudaGetLastError(), "starting the check of functions");
  }
  Differences out{};
  copy_out(&out, found.data(), sizeof out);
  FunctionCheck result{.inputs = inputs, .differ = out.count, .first = {}};
  result.first.assign(out.first, out.first + std::min<std::uint64_t>(out.count, kMostDifferences));
  return result;
}

}  // namespace mmaudit::device
