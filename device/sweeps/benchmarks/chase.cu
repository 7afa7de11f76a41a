// Chases of a pointer through rings of cache lines, over footprints: the latency of every cache and of
// memory.
#include "sweeps/memory/global_memory.cuh"

namespace mmaudit::sweeps {

enum class ChaseThrough { all, second_level };
template <ChaseThrough kThrough>
struct GlobalChase;

#ifdef __CUDACC__

template <ChaseThrough kThrough>
struct GlobalChase {
  static constexpr bool kExists = true;
  static constexpr int kLanes = 32, kMostThreads = 32;
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
Benchmark chase(const char* name, std::string_view published) {
  Benchmark benchmark;
  benchmark.name = name;
  benchmark.family = "Chases of global memory";
  benchmark.place = 200;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kFootprintAxis};
  benchmark.published = {published};
  benchmark.sass = {{"LDG"}, 1};
  benchmark.exists = [](const Point& point) { return point.number("warps") == 1; };
  benchmark.work = [](const Point&) { return Work{.bytes = sizeof(std::uint64_t)}; };
  benchmark.ceiling = [](int) { return 0.0; };
  benchmark.kernel = [](const Point&) { return timed_kernel<GlobalChase<kThrough>, 1, kCopies>(); };
  benchmark.setup = [](const Point& point, Workbench*) {
    Setup setup;
    setup.slot_bytes = sizeof(ChaseResult);
    setup.memory_bytes = static_cast<std::size_t>(point.number("kib")) << 10;
#ifdef __CUDACC__
    setup.fill = fill_with_ring;
#endif
    const auto lines = static_cast<std::uint32_t>(setup.memory_bytes / kLineBytes);
    setup.check = [lines](const ReadResult& read, int, int steps, Measurement& out) {
      check_chases(read(), sizeof(ChaseResult), lines, steps, out);
    };
    return setup;
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_chase() {
  return {chase<ChaseThrough::all>("ld.relaxed.cta.global.u64", "Luo III"),
          chase<ChaseThrough::second_level>("ld.relaxed.gpu.global.u64", "Luo III")};
}

}  // namespace mmaudit::sweeps
