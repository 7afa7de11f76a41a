// Chases of a pointer through rings of cache lines, over footprints: the latency of every cache and of
// memory.
#include "sweeps/memory/global_memory.cuh"

namespace mmaudit::sweeps {

enum class ChaseThrough { all, second_level };
template <ChaseThrough kThrough>
struct GlobalChase;

#ifdef __CUDACC__

template <ChaseThrough kThrough>
struct GlobalChase : WarpBody<true, 32> {
  static constexpr device::Cached kCached =
      kThrough == ChaseThrough::all ? device::Cached::all : device::Cached::second_level;

  template <int>
  struct Chains {
    std::uint64_t address, read;
    ChaseResult result;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      const auto lines = static_cast<std::uint32_t>(args.memory_bytes / kLineBytes);
      read = warm_up<kCached>(args, at.lane);
      result.start = __shfl_sync(~0U, some_place(lines), 0);
      address = ring_address(args, line_at(result.start, lines));
      __syncwarp();
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      repeat<1, kCopies>(steps, [this](int, int) { address = device::load_address<kCached>(address); });
      asm volatile("" ::"l"(address));
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      result.end = place_of(address) + (read == 1 ? 1 : 0);  // addresses of lines are even: 0
      static_cast<ChaseResult*>(args.d)[at.slot] = result;
      return false;
    }
  };
};

#endif

namespace {

constexpr int kCopies = 8;
template <ChaseThrough kThrough>
Benchmark chase(const char* name) {
  return {.name = name,
          .family = "Chases of global memory",
          .place = 200,
          .axes = {kScopeAxis, kWarpsAxis, kFootprintAxis},
          .published = {"Luo III"},
          .sass = {{"LDG"}, 1},
          .exists = one_warp,
          .work = [](const Point&) { return Work{.bytes = sizeof(std::uint64_t)}; },
          .kernel = [](const Point&) { return timed_kernel<GlobalChase<kThrough>, 1, kCopies>(); },
          .setup =
              [](const Point& point, Workbench*) {
                return chase_setup<ChaseResult>(static_cast<std::size_t>(point.number("kib")) << 10);
              }};
}

}  // namespace

std::vector<Benchmark> benchmark_chase() {
  return {chase<ChaseThrough::all>("ld.relaxed.cta.global.u64"),
          chase<ChaseThrough::second_level>("ld.relaxed.gpu.global.u64")};
}

}  // namespace mmaudit::sweeps
