// FLOP per byte, on rates that are known.
#include "sweeps/roofline.hpp"

#include <gtest/gtest.h>

namespace mmaudit::sweeps::test {
namespace {

void add(SweepResult& result, const char* subject, const char* level, const char* tag, double rate,
         const char* scope = "gpu") {
  result.points.push_back(
      {.subject = subject, .axes = {{"scope", scope}, {"level", level}}, .summaries = {{tag, rate}}});
}

TEST(Roofline, IsTheBestRateOverTheBestRead) {
  SweepResult result;
  add(result, "wgmma.m64nNk16.f32.f16.f16", "", tag::kFlops, 800e12);
  add(result, "mma.m16n8k16.f32.f16.f16.f32", "", tag::kFlops, 600e12);
  add(result, "wgmma.sp.m64nNk32.f32.f16.f16", "", tag::kFlops, 1600e12);
  add(result, "wgmma.m64nNk8.f32.tf32.tf32", "", tag::kFlops, 400e12);
  EXPECT_TRUE(roofline_table(result).rows.empty()) << "nothing was read";
  add(result, "stream.ld.v4.u32", "memory", tag::kBytesPerSecond, 3e12);
  add(result, "cp.async.bulk+inflight", "memory", tag::kBytesPerSecond, 4e12);
  add(result, "cp.async.bulk.global+inflight", "memory", tag::kBytesPerSecond, 9e12);
  const report::Table table = roofline_table(result);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(report::to_csv(table),
            "type of A,TFLOPS,FLOP/B of memory,FLOP/B of L2\r\nf16,800.0,200,-\r\ntf32,400.0,100,-\r\n");
}

}  // namespace
}  // namespace mmaudit::sweeps::test
