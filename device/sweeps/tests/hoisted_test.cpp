// The gate on a kernel that is compiled now: its code, and on a GPU its points.
#include "sweeps/tests/hoisted.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/sweeps/sweep.hpp"

namespace mmaudit::sweeps::test {
namespace {

/// Zeros: the model's chain of FP8 has operands that change, this kernel has not. With two and three chains
/// ptxas 13.0 hoists nothing.
SweepOptions plan_of(const Benchmark& benchmark) {
  return {{benchmark}, resolve_axes({"scope=sm", "init=zero", "warps=16", "ilp=[1,4,5,6]"}, false), {}, {}};
}

SassBySymbol code_of(const SweepOptions& plan) {
  std::string why_not;
  SassBySymbol code = sass_of_this_program(symbols_of(plan), 90, why_not);
  EXPECT_EQ(why_not, "");
  return code;
}

TEST(HoistedKernel, ItsCodeIsRefused) {
  if (!device::built_with_cuda()) GTEST_SKIP() << "built without CUDA";
  const Benchmark hoisted = hoisted_fp8();
  const SweepOptions plan = plan_of(hoisted);
  const SassBySymbol code = code_of(plan);
  int read = 0;
  for (const Point& point : points_of(hoisted, plan.axes)) {
    const auto at = code.find(hoisted.kernel(point).symbol);
    ASSERT_NE(at, code.end()) << point.key();
    const std::string why = why_not_timed(hoisted, point, at->second);
    EXPECT_NE(why.find("multiply-adds of matrix instructions"), std::string::npos) << point.key() << why;
    std::printf("%s: %s\n", point.key().c_str(), why.c_str());
    ++read;
  }
  EXPECT_EQ(read, 4);
}

TEST(HoistedKernel, OnAGpuItsPointsAreRefused) {
  const std::vector<device::DeviceInfo> gpus = device::devices();
  if (gpus.empty()) GTEST_SKIP() << (device::built_with_cuda() ? "no GPU" : "built without CUDA");
  const std::unique_ptr<Rig> machine = gpu_machine(gpus.front());
  SweepOptions plan = plan_of(hoisted_fp8());
  const auto sweep = [&] {
    SweepResult result;
    result.provenance = machine->provenance();
    run_sweep(*machine, plan, {}, result);
    return result;
  };
  // What the gate keeps away: rates as they would be published.
  const SweepResult open = sweep();
  for (const Point& point : open.points)
    std::printf("without the gate: %s: %.0f FMA/clk/SM\n", point.key().c_str(), point.rate().value_or(0));
  EXPECT_EQ(open.points.size(), 4U);
  plan.code = code_of(plan);
  const SweepResult gated = sweep();
  EXPECT_EQ(gated.points.size(), 4U);
  for (const Point& point : gated.points) {
    EXPECT_TRUE(point.skipped.starts_with("refused: the loop of ")) << point.key() << point.skipped;
    std::printf("%s: %s\n", point.key().c_str(), point.skipped.c_str());
  }
}

}  // namespace
}  // namespace mmaudit::sweeps::test
