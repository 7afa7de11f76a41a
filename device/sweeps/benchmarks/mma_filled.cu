// One chain of mma with independent instructions between two of its steps: whether the wait of a lone chain
// is the unit's, or that of the NOP which ptxas puts there when it has nothing else.
#include "sweeps/matrix/mma.cuh"

#define MMAUDIT_FILLED(X) \
  X(16, 8, 8, f32, f16, f16, f32) X(16, 8, 4, f32, tf32, tf32, f32) X(16, 8, 16, f32, f16, f16, f32)
#define MMAUDIT_FILLED_I8(X) X(16, 8, 16, wrapping, s8, s8)
#define MMAUDIT_FILLED_SP(X) X(16, 8, 16, f32, f16, f16, f32)

#define MMAUDIT_TIMED(...) filled<MMAUDIT_MMA_NAME(__VA_ARGS__)>(),
#define MMAUDIT_TIMED_INT(...) filled<MMAUDIT_MMA_INT_NAME(__VA_ARGS__)>(),
#define MMAUDIT_TIMED_SP(...) filled<MMAUDIT_MMA_SP_NAME(__VA_ARGS__)>(),

namespace mmaudit::sweeps {

using device::listed_instruction;
MMAUDIT_FILLED(MMAUDIT_MMA_LINE)
MMAUDIT_FILLED_I8(MMAUDIT_MMA_INT_LINE)
MMAUDIT_FILLED_SP(MMAUDIT_MMA_SP_LINE)

/// Body of a Line with kFill instructions between two of its own. Each takes a register of D, so it has one
/// gap alone to stand in: instructions free to move ptxas heaps into the first gaps.
template <typename Line, int kFill>
struct Filled;

#ifdef __CUDACC__

template <typename Line, int kFill>
struct Filled : MmaBody<Line, false> {
  template <int kChains>
  struct Chains : MmaBody<Line, false>::template Chains<kChains> {
    using Base = typename MmaBody<Line, false>::template Chains<kChains>;
    std::uint32_t words[kFill + 1] = {};

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) : Base(args, at) {}
    __device__ __forceinline__ void step(int chain) {
      Base::multiply(this->d[chain], this->operands);
#pragma unroll
      for (int i = 0; i < kFill; ++i)
        asm volatile("prmt.b32 %0, %0, %1, 0x2165;" : "+r"(words[i]) : "r"(this->d[0][i]));
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      repeat<kChains, kCopies>(steps, [this](int, int chain) { step(chain); });
    }
    /// The words are compared with the words of the same chain once more.
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      Chains again(args, at);
#pragma unroll 1
      for (int i = 0; i < args.steps; ++i) again.step(0);
      bool differ = Base::finish(args, at);
      for (int i = 0; i < kFill; ++i) differ = differ || again.words[i] != words[i];
      return differ;
    }
  };
};

#endif

namespace {

constexpr AxisSpec kFillAxis = number_axis("fill", 0, 4, "[0,1,2,4]", "[0,1]",
                                           "instructions on D between two mma of a chain", "0,1,2,4");

template <typename Line>
Benchmark filled() {
  Benchmark benchmark = matrix_benchmark(Line::kInstruction);
  benchmark.name.insert(benchmark.name.find(".m16"), "+fill");  // not part of what --inst mma.m16... names
  benchmark.family = "mma with instructions between";
  benchmark.place = 25;
  benchmark.whole_gpu = false;
  benchmark.axes = {kScopeAxis, kInitAxis, kWarpsAxis, kIlpAxis, kFillAxis};
  // Beside instructions on D a second chain, in a loop as long as the first one's.
  benchmark.exists = [](const Point& point) {
    return point.number("warps") == 1 && point.number("ilp") <= (point.number("fill") == 0 ? 2 : 1);
  };
  benchmark.besides = [](const Point& point) {
    return SassRule{{"PRMT"}, static_cast<double>(point.number("fill"))};
  };
  benchmark.kernel = [](const Point& point) {
    constexpr int kCopies = 16;
    if (point.number("ilp") == 2) return timed_kernel<Filled<Line, 0>, 2, kCopies>();
    return kernel_for<0, 1, 2, 4>(
        point.number("fill"), [&]<int kFill>() { return timed_kernel<Filled<Line, kFill>, 1, kCopies>(); });
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_mma_filled() {
  return {MMAUDIT_FILLED(MMAUDIT_TIMED) MMAUDIT_FILLED_I8(MMAUDIT_TIMED_INT)
              MMAUDIT_FILLED_SP(MMAUDIT_TIMED_SP)};
}

}  // namespace mmaudit::sweeps
