#include <gtest/gtest.h>

#include "sweeps/census.hpp"

namespace mmaudit::sweeps {
namespace {

std::string kernel(const std::string& symbol, const std::string& loop) {
  const std::string clock = "        /*0100*/                   CS2R R8, SR_CLOCKLO ;          /* 0x0 */\n";
  return "\t\tFunction : " + symbol +
         "\n        /*0000*/                   LDG.E R4, desc[UR4][R2.64] ; /* 0x1 */\n" + clock +
         "        /*0120*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;  /* 0x2 */\n" + clock + loop +
         clock + "        /*0300*/                   STG.E desc[UR4][R2.64], R4 ;   /* 0x3 */\n";
}

std::string instruction(const std::string& text) {
  return "        /*0200*/                   " + text + " ;   /* 0x4 */\n";
}

constexpr char kF16[] =
    "_ZN7mmaudit6sweeps5timedINS0_3MmaINS0_28Mma_m16n8k16_f32_f16_f16_f32EEELi1ELi16EEEvNS0_9TimedArgsE";

TEST(Census, CountsTheLoopAndNothingElse) {
  std::string loop;
  for (int i = 0; i < 16; ++i) loop += instruction("HMMA.16816.F32 R4, R8, R2, R4");
  loop += instruction("@!P0 BRA 0x200");
  const std::vector<CensusRow> rows = census_of("\t\tcode for sm_90a\n" + kernel(kF16, loop));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].target, "sm_90a");
  EXPECT_EQ(rows[0].subject, "mma.m16n8k16.f32.f16.f16.f32");
  EXPECT_EQ(rows[0].copies, 16);
  EXPECT_EQ(rows[0].opcodes, (std::map<std::string, int>{{"BRA", 1}, {"HMMA.16816.F32", 16}}));
  EXPECT_EQ(rows[0].matrix(), "HMMA.16816.F32");
  EXPECT_EQ(rows[0].verdict(), "native");
}

TEST(Census, SeesConversionsAndTheAbsenceOfATensorCore) {
  std::string converted, emulated;
  for (int i = 0; i < 16; ++i) {
    converted += instruction("F2FP.F16.E4M3.UNPACK_B R5, R6") + instruction("HMMA.16816.F32 R4, R8, R2, R4") +
                 instruction("HMMA.16816.F32 R4, R8, R2, R4");
    emulated += instruction("IMAD.MOV.U32 R4, RZ, RZ, R5") + instruction("IMAD.MOV.U32 R4, RZ, RZ, R5");
  }
  const std::vector<CensusRow> rows = census_of("code for sm_90a\n" + kernel(kF16, converted) +
                                                "code for sm_100a\n" + kernel(kF16, emulated));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].matrix(), "2 x HMMA.16816.F32");
  EXPECT_EQ(rows[0].verdict(), "converted");
  EXPECT_EQ(rows[1].target, "sm_100a");
  EXPECT_EQ(rows[1].matrix(), "2 x IMAD.MOV.U32");
  EXPECT_EQ(rows[1].verdict(), "no tensor core");
}

TEST(Census, FewerConversionsThanStepsAreNoneOfTheStep) {
  std::string loop;
  for (int i = 0; i < 16; ++i) loop += instruction("HMMA.16816.F32 R4, R8, R2, R4");
  for (const int conversions : {1, 15, 16}) {
    std::string with = loop;
    for (int i = 0; i < conversions; ++i) with += instruction("F2FP.F16.E4M3.UNPACK_B R5, R6");
    EXPECT_EQ(census_of(kernel(kF16, with)).at(0).verdict(), conversions < 16 ? "native" : "converted");
  }
}

TEST(Census, SparseAndWholeTileKernelsAndLongLoops) {
  std::string loop, sparse_loop;
  for (int i = 0; i < 16; ++i) {
    const std::string line =
        "        /*1a20" + std::to_string(i) + "*/                  HMMA.SP.16832.F32 R4, R8, R2, R4 ;\n";
    sparse_loop += line;
    if (i < 4) loop += line;
  }
  const auto rows = census_of(
      "code for sm_80\n" +
      kernel("_ZN7mmaudit6sweeps5timedINS0_3MmaINS0_30MmaSp_m16n8k32_f32_f16_f16_f32EEELi1ELi16EEEvNS0_"
             "9TimedArgsE",
             sparse_loop) +
      kernel(
          "_ZN7mmaudit6sweeps5timedINS0_4WmmaINS0_26Wmma_m16n16k16_f32_f16_f32EEELi1ELi4EEEvNS0_9TimedArgsE",
          loop));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].subject, "mma.sp.m16n8k32.f32.f16.f16.f32");
  EXPECT_EQ(rows[0].matrix(), "HMMA.SP.16832.F32");
  EXPECT_EQ(rows[1].subject, "wmma.m16n16k16.f32.f16.f16.f32");
}

TEST(Census, OneChainOfEachKernelAndNoOtherFunctions) {
  const std::string loop = instruction("HGMMA.64x8x16.F32 R4, R8, gdesc[UR4]");
  const auto count = [&](const std::string& symbol) { return census_of(kernel(symbol, loop)).size(); };
  EXPECT_EQ(count(kF16), 1U);
  EXPECT_EQ(count("_ZN7mmaudit6sweeps5timedINS0_3MmaINS0_28Mma_m16n8k16_f32_f16_f16_f32EEELi2ELi4EEEvNS0_"
                  "9TimedArgsE"),
            0U);
  EXPECT_EQ(count("_ZN7mmaudit6device10mma_kernelINS0_3FooEEEvNS0_10KernelArgsE"), 0U);
  EXPECT_EQ(count("_Z5timedIN"), 0U);
  const auto rows =
      census_of(kernel("_ZN7mmaudit6sweeps5timedINS0_5WgmmaINS0_5ChainINS0_21Wgmma_k16_f32_f16_"
                       "f16ELi8EEELb1EEELi1ELi8EEEvNS0_9TimedArgsE",
                       loop));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].subject, "wgmma.m64nNk16.f32.f16.f16 n=8 a=registers group=8");
  EXPECT_EQ(rows[0].matrix(), "0.125 x HGMMA.64x8x16.F32");
  EXPECT_TRUE(census_of("").empty());
}

}  // namespace
}  // namespace mmaudit::sweeps
