// Bulk copies from shared to global memory: plain, or adding to what is there. What is stored differs from
// launch to launch, so memory says which launch stored last.
#include <array>
#include <cstring>
#include <memory>

#include "sweeps/memory/copies.cuh"
#include "sweeps/memory/global_memory.hpp"
#ifdef __CUDACC__
#include "ptx/bulk_copy.cuh"
#include "ptx/line.cuh"
#include "run/cuda_check.hpp"
#endif

namespace mmaudit::sweeps {

template <bool kAdds>
struct BulkStore;

#ifdef __CUDACC__

template <bool kAdds>
struct BulkStore {
  static constexpr bool kExists = device::kTargetCapability >= 90;
  static constexpr int kLanes = 32, kMostThreads = 32;

  template <int>
  struct Chains {
    CopyResult result;
    std::uint32_t bytes, chunks, next, stride, source, lane, words;
    std::uint64_t memory;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      bytes = static_cast<std::uint32_t>(args.parameter);
      chunks = stored_chunks(args.memory_bytes, bytes);
      next = blockIdx.x % chunks;
      stride = gridDim.x % chunks;
      memory = reinterpret_cast<std::uint64_t>(args.memory);
      source = static_cast<std::uint32_t>(__cvta_generic_to_shared(copy_bytes));
      lane = static_cast<std::uint32_t>(at.lane);
      words = bytes / 4;
      for (std::uint32_t word = lane; word < words; word += 32)
        reinterpret_cast<std::uint32_t*>(copy_bytes)[word] = stored_bulk_word(word, args.launch);
      device::show_to_engine();
      __syncwarp();
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
#pragma unroll 1
      for (int i = 0; i < steps; i += kTurn) {
        const std::uint64_t to = memory + std::uint64_t{next} * bytes;
        next += stride;
        if (next >= chunks) next -= chunks;
        if (lane == 0) {
          if constexpr (kAdds)
            device::add_bulk(to, source, bytes);
          else
            device::store_bulk(to, source, bytes);
          result.copied += words;
          device::commit_stores();
          device::wait_stores_read<kInFlightMost - 1>();
        }
      }
      if (lane == 0) device::wait_stores();
      __syncwarp();
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      write_result(result, args, at);
      return false;
    }
  };
};

static __global__ void count_wrong_words(const TimedArgs args, const BulkStores stores, bool adds,
                                         unsigned long long* wrong) {
  const auto bytes = static_cast<std::uint32_t>(args.parameter);
  const auto words = stored_chunks(args.memory_bytes, bytes) * (bytes / 4);
  const auto* found = static_cast<const std::uint32_t*>(args.memory);
  unsigned long long differing = 0;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
    differing += found[i] != stores.word(i, bytes / 4, adds) ? 1 : 0;
  if (differing > 0) atomicAdd(wrong, differing);
}

/// What: the words of memory that are not what the launches until now leave.
static std::uint64_t wrong_words(const TimedArgs& args, const BulkStores& stores, bool adds) {
  const device::Buffer wrong(sizeof(unsigned long long));
  device::cuda_check(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)), "clearing a count");
  count_wrong_words<<<1024, 256>>>(args, stores, adds, wrong.data<unsigned long long>());
  device::cuda_check(cudaGetLastError(), "counting wrong words");
  unsigned long long found = 0;
  device::copy_out(&found, wrong.data(), sizeof(found));
  return found;
}

#endif

namespace {

template <bool kAdds>
Benchmark stores(const char* name) {
  Benchmark benchmark;
  benchmark.name = name;
  benchmark.family = "Bulk copies to global memory";
  benchmark.place = 276;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kLevelAxis, kSizeAxis, kBlocksPerAxis};
  benchmark.whole_gpu = true;
  benchmark.sass = {{kAdds ? "UBLKRED" : "UBLKCP"}, 1};
  benchmark.exists = [](const Point& point) {
    const int bytes = point.number("bytes"), blocks = point.number("ctas");
    return point.number("warps") == 1 && level_of(point) != Level::first &&
           (bytes == 1024 || bytes == 16384) && (blocks == 1 || blocks == 4);
  };
  benchmark.why_not = [](const device::DeviceInfo& device, const Point& point) -> std::string {
    return device.compute_capability < 90 ? "bulk copies need compute capability 9.0"
                                          : needs_all_multiprocessors(point);
  };
  benchmark.work = [](const Point& point) { return Work{.bytes = 1.0 * point.number("bytes")}; };
  benchmark.ceiling = [](int) { return 0.0; };
  benchmark.kernel = [](const Point&) { return timed_kernel<BulkStore<kAdds>, 1, 1>(); };
  benchmark.setup = [](const Point& point, Workbench*) {
    Setup setup;
    const int bytes = point.number("bytes");
    setup.args.parameter = bytes;
    setup.shared_bytes = bytes;
    setup.slot_bytes = sizeof(CopyResult);
    setup.memory_bytes = copied_bytes(point);
    setup.placement.blocks_per_multiprocessor = point.number("ctas");
#ifdef __CUDACC__
    const auto args = std::make_shared<TimedArgs>();
    const auto history = std::make_shared<BulkStores>();
    setup.fill = [args, history](const TimedArgs& filled) {
      *args = filled;
      *history = {};
      fill_words<<<1024, 256>>>(filled);
    };
    setup.launched = [args](const TimedArgs& launched) { *args = launched; };
#endif
    setup.check = [=](const ReadResult& read, int, int steps, Measurement& out) {
      const std::vector<std::byte> seen = read();
      const std::size_t blocks = seen.size() / sizeof(CopyResult);
      for (std::size_t slot = 0; slot < blocks; ++slot) {
        ++out.compared;
        out.differing += result_at(seen, slot).copied !=
                                 static_cast<std::uint32_t>(steps) * static_cast<std::uint32_t>(bytes / 4)
                             ? 1
                             : 0;
      }
#ifdef __CUDACC__
      if (args->memory == nullptr) return;
      const auto chunks = stored_chunks(args->memory_bytes, static_cast<std::uint32_t>(bytes));
      history->add(args->launch, blocks * static_cast<std::uint64_t>(steps), chunks);
      out.compared += std::uint64_t{chunks} * static_cast<std::uint64_t>(bytes / 4);
      out.differing += wrong_words(*args, *history, kAdds);
#endif
    };
    return setup;
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_bulk_store() {
  return {stores<false>("cp.async.bulk.global+inflight"),
          stores<true>("cp.reduce.async.bulk.add.u32+inflight")};
}

}  // namespace mmaudit::sweeps
