// A GPU that fails ends alone, and keeps what it had found.
#include <gtest/gtest.h>

#include "mmaudit/error.hpp"
#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {
namespace {

TEST(Beside, AFailingGpuEndsAloneAndKeepsItsResults) {
  std::vector<device::DeviceInfo> gpus(3);
  for (int i = 0; i < 3; ++i) gpus[static_cast<std::size_t>(i)].ordinal = i;
  const std::vector<GpuResult> results =
      screen_beside(gpus, [](const device::DeviceInfo& gpu, GpuResult& result, Steps&) {
        result.works.resize(2);
        result.works[0].wrong = 1 + static_cast<std::uint64_t>(gpu.ordinal);
        if (gpu.ordinal == 1) throw EnvironmentError("CUDA: running a screening kernel: an ECC error");
        if (gpu.ordinal == 2) throw 2;
        result.seconds = 9;
      });
  ASSERT_EQ(results.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].device.ordinal, static_cast<int>(i));
    EXPECT_EQ(results[i].wrong(), i + 1);
  }
  EXPECT_EQ(results[0].error, "");
  EXPECT_EQ(results[0].seconds, 9);
  EXPECT_EQ(results[1].error, "CUDA: running a screening kernel: an ECC error");
  EXPECT_EQ(results[2].error, "an error without a message");
}

}  // namespace
}  // namespace mmaudit::screen
