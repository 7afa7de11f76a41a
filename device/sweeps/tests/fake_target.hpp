#pragma once
// A target that is a formula: four sub-cores, a latency, a rate.
#include <algorithm>
#include <functional>

#include "mmaudit/sweeps/sweep.hpp"

namespace mmaudit::sweeps::test {

constexpr char kMma[] = "mma.m16n8k16.f32.f16.f16.f32";

/// 32-bit words per lane of a load or store.
inline int words_of(const Benchmark& benchmark, const Point& point) {
  return static_cast<int>(benchmark.work(point).bytes /
                          (4 * 32 * point.number("warps") * std::max(1, point.number("ilp"))));
}
inline bool is_wgmma(const Benchmark& benchmark) {
  return benchmark.instruction && mmaudit::is_wgmma(benchmark.instruction->op);
}
inline bool is_sparse(const Benchmark& benchmark) {
  return benchmark.instruction && mmaudit::is_sparse(benchmark.instruction->op);
}

/// Cycles of a step; the default behaves as the papers describe tensor cores and shared memory.
inline double usual_cycles(const Benchmark& benchmark, const Point& point) {
  const int warps = point.number("warps"), ilp = std::max(1, point.number("ilp"));
  if (!point.axis("fed").empty()) {
    // A in shared memory takes bandwidth that copies want; memory has less than either.
    const double most = point.axis("level") == "memory" ? 20 : point.axis("a") == "registers" ? 60 : 40;
    return std::max(128.0, point.number("fed") / 4.0 / most);
  }
  if (is_wgmma(benchmark)) {
    const int n = point.number("n"), warpgroups = warps / 4;
    const bool registers = point.axis("a") == "registers";
    const double shared_a = registers ? 0 : 16 + n / 4.0;
    const double sparse = is_sparse(benchmark) && !registers ? 16 : 0;
    return warpgroups * std::max({13.0, n / 2.0, shared_a}) + sparse;
  }
  // The busiest of the four sub-cores.
  const int deepest = (warps + 3) / 4 * ilp;
  if (benchmark.instruction) {
    const bool small = benchmark.instruction->stored_k() == 8;
    const double latency = small ? 16 : 24, each = small ? 7 : 8;
    const double issue = warps <= 4 && ilp > 1 ? 1.15 : 1.0;  // one warp cannot fill its sub-core
    return std::max(latency, deepest * each * issue) + 0.1 * (warps > 4 ? 1 : 0);
  }
  const int ways = point.axis("ways").empty() ? words_of(benchmark, point) : point.number("ways");
  // A sub-core sends a wavefront every two cycles, all four one per cycle.
  return std::max({21.0 + 2 * ways, 1.0 * ways * warps * ilp, 2.0 * ways * deepest});
}

class FakeTarget final : public BenchTarget {
 public:
  Provenance provenance() override {
    return {.gpu = "Fake",
            .driver = "1.0",
            .cuda = "13.0",
            .compute_capability = 90,
            .multiprocessors = 132,
            .nominal_hz = 2e9,
            .version = {},
            .revision = {},
            .date = {},
            .command = {}};
  }
  Measurement measure(const Benchmark& benchmark, const Point& point, const RunRule& rule) override {
    ++measured;
    Measurement out;
    if (point.subject.starts_with("stmatrix")) {
      out.skipped = "no stores here";
      return out;
    }
    if (point.number("warps") > most_warps) {
      out.skipped = "too many warps";
      return out;
    }
    const double step = cycles(benchmark, point);
    out.steps = 1000;
    out.compared = 64;
    out.differing = differing(point);
    if (point.axis("scope") == "energy") out.joules = joules(benchmark), out.seconds = 1;
    const double hz = clock(point);
    for (int i = 0; i < rule.least; ++i) {
      // A spread of 0.2% around the value.
      const double wobble = 1 + 0.002 * (i % 3 - 1);
      const double seconds = out.steps * step * wobble / hz;
      out.samples.push_back({step * wobble, seconds, seconds, hz});
    }
    return out;
  }

  int measured = 0, most_warps = 32;
  std::function<double(const Benchmark&, const Point&)> cycles = usual_cycles;
  std::function<double(const Point&)> clock = [](const Point& point) {
    return point.axis("init") == "random" ? 1.8e9 : 2e9;
  };
  std::function<double(const Benchmark&)> joules = [](const Benchmark&) { return 700; };
  std::function<std::uint64_t(const Point&)> differing = [](const Point&) { return 0; };
};

inline SweepResult sweep_of(FakeTarget& target, const std::vector<std::string>& parts = {},
                            bool quick = false, const std::vector<std::string>& axes = {}) {
  SweepResult result;
  result.provenance = target.provenance();
  const SweepOptions options{select_benchmarks(parts), resolve_axes(axes, quick), {}};
  result.axes = options.axes;
  run_sweep(target, options, {}, result);
  return result;
}

}  // namespace mmaudit::sweeps::test
