// Bulk copies from shared to global memory: plain, or adding to what is there. What is stored differs from
// launch to launch, so memory says which launch stored last.
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
struct BulkStore : OnHopper<32> {
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

#endif

namespace {

/// Every word was sent; and memory holds what all launches until now leave.
template <bool kAdds>
Setup store_setup(const Point& point, Workbench*) {
  const int bytes = point.number("bytes");
  const auto words = static_cast<std::uint32_t>(bytes / 4);
  Setup setup = {.args = {.parameter = bytes},
                 .shared_bytes = bytes,
                 .slot_bytes = sizeof(CopyResult),
                 .placement = {.blocks_per_multiprocessor = point.number("ctas")},
                 .memory_bytes = copied_bytes(point)};
  const auto sent = each_result<CopyResult>([words](const CopyResult& found, std::size_t, int steps) {
    return found.copied == static_cast<std::uint32_t>(steps) * words;
  });
  setup.check = sent;
#ifdef __CUDACC__
  const auto args = std::make_shared<TimedArgs>();
  const auto history = std::make_shared<BulkStores>();
  setup.fill = [args, history](const TimedArgs& filled) {
    *args = filled;
    *history = {};
    fill_words(filled);
  };
  setup.launched = [args](const TimedArgs& launched) { *args = launched; };
  setup.check = [=](const ReadResult& read, int slots, int steps, Measurement& out) {
    const std::uint64_t sent_before = out.compared;
    sent(read, slots, steps, out);
    if (args->memory == nullptr) return;
    const auto chunks = stored_chunks(args->memory_bytes, 4 * words);
    history->add(args->launch, (out.compared - sent_before) * static_cast<std::uint64_t>(steps), chunks);
    out.compared += std::uint64_t{chunks} * words;
    const device::Counter wrong;
    count_wrong_words<<<1024, 256>>>(*args, *history, kAdds, wrong.place());
    out.differing += wrong.read();
  };
#endif
  return setup;
}

template <bool kAdds>
Benchmark stores(const char* name) {
  return {.name = name,
          .family = "Bulk copies to global memory",
          .place = 276,
          .axes = {kScopeAxis, kWarpsAxis, kLevelAxis, kSizeAxis, kBlocksPerAxis},
          .whole_gpu = true,
          .sass = {{kAdds ? "UBLKRED" : "UBLKCP"}, 1},
          .exists =
              [](const Point& point) {
                const int bytes = point.number("bytes"), blocks = point.number("ctas");
                return copies_exist(point) && (bytes == 1024 || bytes == 16384) &&
                       (blocks == 1 || blocks == 4);
              },
          .work = [](const Point& point) { return Work{.bytes = 1.0 * point.number("bytes")}; },
          .why_not = hopper_has("bulk copies need", needs_all_multiprocessors),
          .kernel = [](const Point&) { return timed_kernel<BulkStore<kAdds>, 1, 1>(); },
          .setup = store_setup<kAdds>};
}

}  // namespace

std::vector<Benchmark> benchmark_bulk_store() {
  return {stores<false>("cp.async.bulk.global+inflight"),
          stores<true>("cp.reduce.async.bulk.add.u32+inflight")};
}

}  // namespace mmaudit::sweeps
