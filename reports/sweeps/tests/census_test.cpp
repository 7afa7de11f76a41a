#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/census.hpp"
#include "sweeps/published.hpp"

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

/// The third column of the shipped census, by subject, of one target.
std::map<std::string, std::string> shipped(std::string_view target) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(shipped_census(), '\n'))
    if (const std::vector<std::string_view> cells = split(line, ','); cells.size() > 3 && cells[0] == target)
      out.emplace(cells[1], cells[2]);
  return out;
}

TEST(Census, IsTheTableOfAPaper) {
  // What CUDA 13.0 makes where Luo et al. saw something else: FP8 to binary16 exists now, and s4 is spelled
  // out in IMMA by a function, of which the table names the moves around the call.
  const std::map<std::string, std::string> newer = {
      {"mma.m16n8k32.f16.e4m3.e4m3.f16", "2 x HMMA.16816.F16"},
      {"mma.m16n8k64.s32.s4.s4.s32", "2 x IMMA.16832.S8.S8"},
      // The table names one of the two instructions that a step of FP8 becomes.
      {"mma.m16n8k32.f32.e4m3.e4m3.f32", "2 x HMMA.16816.F32"}};
  const std::map<std::string, std::string> ours = shipped("sm_90a");
  std::ifstream file(MMAUDIT_PUBLISHED_SASS);
  int same = 0, other = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t comma = line.find(',');
    if (line.starts_with('#') || line == "subject,sass" || comma == std::string::npos) continue;
    std::string subject = line.substr(0, comma), printed = line.substr(comma + 1);
    const std::string name = subject;
    if (subject.starts_with("wgmma")) subject += " n=64 a=shared group=8";
    // The census has N = 64: N changes no opcode.
    if (const std::size_t n = printed.find("x256x"); n != std::string::npos && name.starts_with("wgmma"))
      printed.replace(n, 5, "x64x");
    const auto found = ours.find(subject);
    const std::string is = found == ours.end() ? "" : found->second;
    if (const auto known = newer.find(name); known != newer.end()) {
      EXPECT_EQ(is, known->second) << name;
      ++other;
    } else {
      EXPECT_EQ(is, printed) << name;
      ++same;
    }
  }
  EXPECT_EQ(same, 15);
  EXPECT_EQ(other, 3);
}

/// A loop that was not found counts as a step what stands between the two clocks: seven steps or more. The
/// most that a step has is eight DMMA for m16n8k16, and 16 IMMA where XOR of bits becomes two functions.
TEST(Census, AStepIsAFewInstructionsOnEveryTarget) {
  int native = 0;
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    for (const auto& [subject, matrix] : shipped(target)) {
      if (matrix.find("MMA") == std::string::npos) continue;
      ++native;
      EXPECT_LE(std::atoi(matrix.c_str()), subject.ends_with(".xor.popc") ? 16 : 8)
          << target << ' ' << subject << ' ' << matrix;
    }
  EXPECT_GE(native, 200);
  EXPECT_EQ(shipped("sm_120a").at("wmma.m8n8k4.f64.f64.f64.f64"), "DMMA.8x8x4");
}

TEST(Census, SeesTheIntegersThatBitsBecome) {
  CensusRow row;
  row.copies = 16;
  row.type = CoreType::b1;
  row.opcodes = {{"CALL.REL.NOINC", 16}, {"IMAD.MOV.U32", 432}, {"IMMA.16832.U8.U8", 128}};
  EXPECT_EQ(row.matrix(), "8 x IMMA.16832.U8.U8");
  EXPECT_EQ(row.verdict(), "converted");
  row.opcodes = {{"BMMA.168256.AND.POPC", 16}, {"BRA.U", 1}};
  EXPECT_EQ(row.verdict(), "native");
  row.opcodes = {{"IMMA.16832.U8.U8", 128}};  // inlined
  EXPECT_EQ(row.verdict(), "converted");
  row.opcodes = {{"LOP3.LUT", 128}};
  EXPECT_EQ(row.verdict(), "no tensor core");
}

/// What ptxas drops as dead code leaves a fraction of an instruction per step.
TEST(Census, HasWholeInstructionsAlone) {
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    for (const auto& [subject, matrix] : shipped(target))
      for (std::size_t at = matrix.find(" x "); at != std::string::npos; at = matrix.find(" x ", at + 1))
        EXPECT_EQ(matrix.substr(0, at).rfind('.') == std::string::npos ||
                      matrix.substr(0, at).rfind('.') < matrix.substr(0, at).rfind(' '),
                  true)
            << target << ' ' << subject << ' ' << matrix;
}

/// The census, the table that the timing model and `list` read, and what a benchmark expects.
TEST(Census, SaysOfEachUnitWhatTheTableSays) {
  int rows = 0;
  for (const std::string_view line : split(shipped_census(), '\n')) {
    const std::vector<std::string_view> cells = split(line, ',');
    if (cells.size() < 4 || cells[0] == "target") continue;
    std::string name(cells[1].substr(0, cells[1].find(' ')));
    const Benchmark* benchmark = find_benchmark(name);
    if (const std::size_t n = name.find("nN"); n != std::string::npos) name.replace(n, 2, "n64");
    const auto inst = find_instruction(name);
    if (!inst) continue;
    const Architecture* architecture = find_architecture(cells[0]);
    ASSERT_NE(architecture, nullptr) << cells[0];
    const auto path = path_of(*architecture, *inst);
    ASSERT_TRUE(path) << line;
    EXPECT_EQ(name_of(path->use), cells[3]) << line;
    EXPECT_EQ(path->opcode.empty(), cells[2].find("MMA") == std::string_view::npos) << line;
    EXPECT_NE(cells[2].find(path->opcode), std::string_view::npos) << line;
    if (benchmark != nullptr && !path->opcode.empty()) {
      const auto& expected = benchmark->sass.opcodes;
      EXPECT_NE(std::find(expected.begin(), expected.end(), path->opcode), expected.end()) << line;
    }
    ++rows;
  }
  EXPECT_GT(rows, 300);
}

TEST(Census, AFunctionOfDpxIsEveryOpcodeOfItsSteps) {
  const std::string symbol = "_ZN7mmaudit6sweeps5timedINS0_3DpxILi14ELb0EEELi1ELi16EEEvNS0_9TimedArgsE";
  std::string hardware = instruction("VIADD R4, R4, 0x1"), software;
  for (int i = 0; i < 16; ++i) {
    hardware += instruction("VIADDMNMX.S16x2 R5, R5, R6, R7");
    software += instruction("IMNMX R5, R5, R6, !PT") + instruction("IMNMX R8, R8, R6, !PT") +
                instruction("LOP3.LUT R5, R5, R8, RZ, 0xfc, !PT");
  }
  const auto rows = census_of("code for sm_90a\n" + kernel(symbol, hardware) + "code for sm_80\n" +
                              kernel(symbol, software));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].subject, "viaddmax_s16x2");
  EXPECT_EQ(rows[0].matrix(), "VIADDMNMX.S16x2");
  EXPECT_EQ(rows[0].verdict(), "native");
  EXPECT_EQ(rows[1].matrix(), "2 x IMNMX + LOP3.LUT");
  EXPECT_EQ(rows[1].verdict(), "software");
}

/// Luo et al., section 8.1: VIMNMX where Ampere has IMNMX, and a vibmax_s32 that is no instruction of its
/// own.
TEST(Census, HasTheFunctionsOfDpxWithAndWithoutTheUnit) {
  const std::map<std::string, std::string> hopper = shipped("sm_90a"), ampere = shipped("sm_80");
  EXPECT_EQ(hopper.at("vimax3_s32"), "VIMNMX3");
  EXPECT_EQ(ampere.at("vimax3_s32"), "2 x IMNMX");
  EXPECT_EQ(hopper.at("viaddmax_s16x2_relu"), "VIADDMNMX.S16x2.RELU");
  EXPECT_EQ(hopper.at("vibmax_s32"), "IMAD.MOV + ISETP.GE.AND + SEL + VIADD");
  int functions = 0;
  for (const auto& [subject, opcodes] : hopper) {
    if (!subject.starts_with("vi")) continue;
    ++functions;
    EXPECT_EQ(opcodes.find("VI") != std::string::npos, true) << subject;
    ASSERT_TRUE(ampere.contains(subject)) << subject;
    EXPECT_NE(ampere.at(subject).find("IMNMX"), std::string::npos) << subject;
    EXPECT_EQ(ampere.at(subject).find("VI"), std::string::npos) << subject;
  }
  EXPECT_EQ(functions, 36);
}

TEST(Census, HasTheOctetsOfVolta) {
  // Native in steps on Turing, a function without a tensor core from Ampere on.
  EXPECT_EQ(shipped("sm_75").at("mma.m8n8k4.f16.f16.f16.f16"),
            "HMMA.884.F16.F16.STEP0 + HMMA.884.F16.F16.STEP1");
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    for (const char* subject : {"mma.m8n8k4.f32.f16.f16.f32", "mma.m8n8k4.f16.f16.f16.f16"})
      EXPECT_EQ(shipped(target).at(subject).find("HMMA"), std::string::npos) << target << ' ' << subject;
}

}  // namespace
}  // namespace mmaudit::sweeps
