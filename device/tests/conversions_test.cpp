// cvt of this GPU and the model of conversions: every binary32, every binary16, every FP8 number.
#include "conversions.hpp"

#include <cinttypes>
#include <cstdio>

#include "gpu_fixture.hpp"

namespace mmaudit::device {
namespace {

class Conversions : public Gpu {};

TEST_F(Conversions, HardwareGivesTheBitsOfTheModelForEveryInput) {
  for (const ConversionResult& result : check_conversions(false)) {
    std::printf("%-30s %10" PRIu64 " inputs, %" PRIu64 " mismatches\n", result.instruction, result.inputs,
                result.mismatches);
    EXPECT_EQ(result.mismatches, 0U) << std::hex << result.instruction << ": input 0x" << result.first_input
                                     << ", hardware 0x" << result.hardware << ", model 0x" << result.model;
  }
}

TEST_F(Conversions, AnotherRoundingIsFound) {
  for (const ConversionResult& result : check_conversions(true)) {
    if (result.inputs == 256) continue;  // FP8 to binary16 is exact: no rounding to spoil
    EXPECT_GT(result.mismatches, 0U) << result.instruction;
  }
}

}  // namespace
}  // namespace mmaudit::device
