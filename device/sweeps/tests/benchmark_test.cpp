// What the files of benchmarks/ say of themselves.
#include "mmaudit/sweeps/benchmark.hpp"

#include <gtest/gtest.h>

#include <set>

#include "fake_target.hpp"
#include "mmaudit/error.hpp"
#include "sweeps/matrix/matrix_benchmark.hpp"

namespace mmaudit::sweeps::test {
namespace {

TEST(Benchmarks, NamesAreUniqueAndEveryTypeIsThere) {
  std::set<std::string> names;
  std::set<Format> types;
  for (const Benchmark& benchmark : benchmarks()) {
    EXPECT_TRUE(names.insert(benchmark.name).second) << benchmark.name;
    if (benchmark.instruction) types.insert(benchmark.instruction->a);
  }
  for (const Format format : {Format::f64, Format::tf32, Format::bf16, Format::f16, Format::e5m2,
                              Format::e4m3, Format::s8, Format::u8, Format::s4, Format::u4, Format::b1})
    EXPECT_TRUE(types.contains(format)) << name_of(format);
  EXPECT_THROW(select_benchmarks({"hmma"}), InputError);
}

TEST(Points, ConflictsNarrowerThanTheLoadDoNotExist) {
  const std::vector<Axis> axes = resolve_axes({"warps=1", "ilp=1"}, false);
  const auto ways = [&](const char* name) {
    std::vector<int> found;
    for (const Point& point : points_of(select_benchmarks({name}).front(), axes))
      found.push_back(point.number("ways"));
    return found;
  };
  EXPECT_EQ(ways("ld.shared.u32"), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(ways("ld.shared.u64"), (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(ways("ld.shared.v4"), (std::vector<int>{4, 8}));
}

TEST(Points, AFilledChainIsAlone) {
  const std::vector<Point> points =
      points_of(select_benchmarks({"mma+fill.m16n8k8.f32"}).front(), resolve_axes({}, false));
  EXPECT_EQ(points.size(), 2U * (4 + 1)) << "operands; instructions between, or a second chain";
  for (const Point& point : points) {
    EXPECT_EQ(point.number("warps"), 1) << point.key();
    EXPECT_TRUE(point.number("ilp") == 1 || point.number("fill") == 0) << point.key();
  }
}

TEST(Points, LanesThatReadTheSameWordsAreServedOnce) {
  const Benchmark& load = *find_benchmark("ld.shared.u64");
  Point point = points_of(load, resolve_axes({"warps=1", "ilp=1", "ways=[0,2]"}, false)).front();
  EXPECT_EQ(point.number("ways"), 0);
  EXPECT_DOUBLE_EQ(load.work(point).bytes, 8);
  point.set("ways", "2");
  EXPECT_DOUBLE_EQ(load.work(point).bytes, 256);
}

TEST(Points, WgmmaTakesWholeWarpgroups) {
  const Benchmark wgmma = select_benchmarks({"wgmma"}).front();
  for (const Point& point : points_of(wgmma, resolve_axes({}, false))) {
    const int warps = point.number("warps"), n = point.number("n");
    EXPECT_EQ(warps % 4, 0);
    EXPECT_GT(n, 0);
    EXPECT_DOUBLE_EQ(wgmma.work(point).fma, warps / 4.0 * 64 * n * 16);
  }
}

TEST(Benchmarks, SayEverythingThatTheEngineAsks) {
  for (const Benchmark& benchmark : benchmarks()) {
    const std::vector<Point> points = points_of(benchmark, resolve_axes({}, false));
    ASSERT_FALSE(points.empty()) << benchmark.name;
    EXPECT_FALSE(benchmark.family.empty()) << benchmark.name;
    EXPECT_FALSE(benchmark.sass.opcodes.empty()) << benchmark.name;
    const Work work = benchmark.work(points.front());
    EXPECT_EQ((work.fma > 0) + (work.bytes > 0) + (work.operations > 0), 1) << benchmark.name;
    EXPECT_TRUE(benchmark.ceiling && benchmark.kernel && benchmark.setup) << benchmark.name;
    // What waits for one chain has no rate of the whole GPU.
    if (benchmark.instruction) {
      const bool waits = std::any_of(benchmark.axes.begin(), benchmark.axes.end(),
                                     [](const AxisSpec& axis) { return axis.name == "fill"; });
      EXPECT_EQ(benchmark.whole_gpu, !waits) << benchmark.name;
    }
  }
}

/// Every point that can be swept has a kernel, and two points share one only where they differ in common
/// axes.
TEST(Benchmarks, HaveAKernelForEveryPointOfTheUsualAxes) {
  int points = 0;
  std::set<std::string> symbols;
  for (const Benchmark& benchmark : benchmarks())
    for (const Point& point : points_of(benchmark, resolve_axes({}, false))) {
      const TimedKernel kernel = benchmark.kernel(point);
      ASSERT_FALSE(kernel.symbol.empty()) << point.key();
      EXPECT_EQ(kernel.launch != nullptr, device::built_with_cuda()) << point.key();
      symbols.insert(kernel.symbol);
      ++points;
    }
  EXPECT_GT(points, 3000);
  EXPECT_GT(symbols.size(), 600U);
}

TEST(Benchmarks, HaveNoKernelForOtherPoints) {
  const Benchmark& mma = *find_benchmark(kMma);
  Point point = points_of(mma, resolve_axes({}, false)).front();
  EXPECT_EQ(mma.kernel(point).symbol, "Mma<Mma_m16n8k16_f32_f16_f16_f32>, 1, 16");
  point.set("ilp", "7");
  EXPECT_TRUE(mma.kernel(point).symbol.empty());
}

TEST(Peaks, HopperAndAmpere) {
  Instruction is = *find_instruction("wgmma.m64n256k16.f32.f16.f16");
  EXPECT_EQ(peak_fma(90, is), 2048);
  EXPECT_EQ(peak_fma(80, is), 1024);
  is.a = Format::s4;
  EXPECT_EQ(peak_fma(90, is), 0);
}

/// A benchmark of a new kind: an axis, a unit of work, results. The engine has heard of none of it.
Benchmark toy() {
  Benchmark benchmark;
  benchmark.name = "toy.copy";
  benchmark.family = "Toys";
  benchmark.axes = {kScopeAxis,
                    kWarpsAxis,
                    kIlpAxis,
                    {.name = "colour", .words = "red,green", .usual = "[red,green]", .quick = "[red]"}};
  benchmark.exists = [](const Point& point) {
    return point.axis("colour") == "red" || point.number("warps") > 1;
  };
  benchmark.work = [](const Point& point) { return Work{.bytes = 8.0 * point.number("warps")}; };
  benchmark.ceiling = [](int) { return 16.0; };
  return benchmark;
}

TEST(Benchmarks, AToyIsSweptWithItsOwnAxis) {
  add_benchmark(toy());
  ASSERT_NE(find_benchmark("toy.copy"), nullptr);
  EXPECT_EQ(parse_axis("colour=green").values, std::vector<std::string>{"green"});
  FakeTarget target;
  target.cycles = [](const Benchmark&, const Point& point) {
    return point.axis("colour") == "red" ? 1.0 : 2.0;
  };
  const SweepResult result = sweep_of(target, {"toy"}, false, {"warps=[1,2]", "ilp=1"});
  ASSERT_EQ(result.points.size(), 3U);
  EXPECT_EQ(result.points[2].key(), "toy.copy scope=sm warps=2 ilp=1 colour=green");
  EXPECT_DOUBLE_EQ(*result.points[2].get(tag::kBytes), 8);
  EXPECT_DOUBLE_EQ(*result.points[2].get(tag::kShareHeld), 0.5);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
