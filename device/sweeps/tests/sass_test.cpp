// The gate: what the code of a timed kernel must hold, and what it refuses.
#include "mmaudit/sweeps/sass.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fake_target.hpp"
#include "mmaudit/sass/opcode.hpp"

namespace mmaudit::sweeps::test {
namespace {

constexpr char kFp8[] = "mma.m16n8k32.f32.e4m3.e4m3.f32";

/// A kernel as cuobjdump prints it: `loop` lies between the readings of the clock, an instruction each 16
/// bytes.
std::string listing(const std::string& symbol, const std::vector<std::string>& loop) {
  std::string text = "code for sm_90a\n\t\tFunction : " + symbol + "\n";
  int address = 0;
  const auto add = [&](const std::string& instruction) {
    char line[160];
    std::snprintf(line, sizeof line, "        /*%04x*/                   %s ;   /* 0x1 */\n", address,
                  instruction.c_str());
    text += line;
    address += 16;
  };
  add("CS2R R8, SR_CLOCKLO");  // 0x0
  for (const std::string& one : loop) add(one);
  add("CS2R R6, SR_CLOCKLO");
  return text;
}

std::vector<SassKernel> kernels_of(const std::string& text) {
  SassReader reader;
  for (const std::string_view line : split(text, '\n')) reader.line(line);
  return reader.kernels();
}

std::string symbol_of(const char* name, int length, int ilp, int copies) {
  return "_ZN7mmaudit6sweeps5timedINS0_3MmaINS0_" + std::to_string(length) + name + "EEELi" +
         std::to_string(ilp) + "ELi" + std::to_string(copies) + "EEEvNS0_9TimedArgsE";
}
std::string f16_symbol(int ilp, int copies) {
  return symbol_of("Mma_m16n8k16_f32_f16_f16_f32", 28, ilp, copies);
}

Point point_of(const char* subject, int warps, int ilp) {
  return {
      .subject = subject,
      .axes = {
          {"scope", "sm"}, {"init", "zero"}, {"warps", std::to_string(warps)}, {"ilp", std::to_string(ilp)}}};
}

std::vector<std::string> loop_of(int steps, int each,
                                 const char* instruction = "HMMA.16816.F32 R4, R8, R2, R4") {
  char counter[40];
  std::snprintf(counter, sizeof counter, "UIADD3 UR4, UR4, 0x%x, URZ", steps);
  std::vector<std::string> loop(static_cast<std::size_t>(steps * each), instruction);
  loop.insert(loop.begin(), counter);
  loop.emplace_back("@!P0 BRA 0x10");
  return loop;
}

TEST(Sass, TheLoopAndItsStepsAreRead) {
  const std::vector<SassKernel> kernels = kernels_of(listing(f16_symbol(1, 16), loop_of(16, 1)));
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].target, "sm_90a");
  EXPECT_EQ(kernels[0].symbol, "Mma<Mma_m16n8k16_f32_f16_f16_f32>, 1, 16");
  ASSERT_NE(kernels[0].main(), nullptr);
  EXPECT_EQ(kernels[0].main()->steps, 16);
  EXPECT_EQ(kernels[0].main()->opcodes, (Opcodes{{"BRA", 1}, {"HMMA.16816.F32", 16}, {"UIADD3", 1}}));
}

TEST(Sass, ACounterMayNameItsCarries) {
  std::vector<std::string> code = loop_of(16, 1);
  code[0] = "UIADD3 UR4, UPT, UPT, UR4, 0x10, URZ";
  const std::vector<SassKernel> kernels = kernels_of(listing(f16_symbol(1, 16), code));
  ASSERT_EQ(kernels.size(), 1U);
  ASSERT_NE(kernels[0].main(), nullptr);
  EXPECT_EQ(kernels[0].main()->steps, 16);
}

TEST(Sass, TheLastKernelOfACubinBelongsToItsOwnTarget) {
  std::string text = listing(f16_symbol(1, 16), loop_of(16, 1));
  text += "code for sm_100a\n";
  const std::vector<SassKernel> kernels = kernels_of(text);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].target, "sm_90a");
}

TEST(Sass, LinesMayKeepTheirEnds) {
  SassReader reader;
  const std::string text = listing(f16_symbol(1, 16), loop_of(16, 1));
  for (const std::string_view line : split(text, '\n')) reader.line(std::string(line) + "\r\n");
  const std::vector<SassKernel> kernels = reader.kernels();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].target, "sm_90a");
  EXPECT_EQ(kernels[0].main()->opcodes.at("HMMA.16816.F32"), 16);
}

TEST(Sass, CalledFunctionsCountInTheLoop) {
  std::vector<std::string> code = {"UIADD3 UR4, UR4, 0x1, URZ", "CALL.REL.NOINC 0x60", "@!P0 BRA 0x10"};
  std::string text = listing(symbol_of("Mma_m16n8k64_wrapping_s4_s4", 27, 1, 1), code);
  text +=
      "        /*0050*/                   EXIT ;\n        /*0060*/                   IMMA.16832.S8.S8 R8, "
      "R8, R12 ;\n"
      "        /*0070*/                   IMMA.16832.S8.S8 R8, R8, R12 ;\n"
      "        /*0080*/                   RET.REL.NODEC R26 0x0 ;\n";
  const std::vector<SassKernel> kernels = kernels_of(text);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].main()->opcodes.at("IMMA.16832.S8.S8"), 2);
  const char* name = "mma.m16n8k64.s32.s4.s4.s32";
  EXPECT_EQ(why_not_timed(*find_benchmark(name), point_of(name, 1, 1), kernels[0]), "");
}

TEST(Sass, ShapesOfOpcodes) {
  EXPECT_EQ(sass::multiply_adds_of("HMMA.16816.F32"), 16 * 8 * 16);
  EXPECT_EQ(sass::multiply_adds_of("HMMA.1684.F32.TF32"), 16 * 8 * 4);
  EXPECT_EQ(sass::multiply_adds_of("HMMA.SP.16832.F32"), 16 * 8 * 32);
  EXPECT_EQ(sass::multiply_adds_of("IMMA.8816.S8.S8"), 8 * 8 * 16);
  EXPECT_EQ(sass::multiply_adds_of("BMMA.168256.AND.POPC"), 16 * 8 * 256);
  EXPECT_EQ(sass::multiply_adds_of("DMMA.16x8x16"), 16 * 8 * 16);
  EXPECT_EQ(sass::multiply_adds_of("HGMMA.64x256x16.F32"), 64 * 256 * 16);
  EXPECT_EQ(sass::multiply_adds_of("FADD"), 0);
  EXPECT_EQ(sass::multiply_adds_of("LDS.128"), 0);
}

TEST(Sass, AGpuRunsTheNewestCodeOfItsMajorVersion) {
  const auto target_for = [](int compute_capability, std::vector<std::string> targets) {
    std::vector<SassKernel> kernels;
    for (std::string& target : targets) {
      kernels.emplace_back();
      kernels.back().target = std::move(target);
      kernels.back().symbol = "one";
    }
    const SassBySymbol code = code_of_gpu(std::move(kernels), compute_capability);
    return code.empty() ? std::string("none") : code.at("one").target;
  };
  EXPECT_EQ(target_for(90, {"sm_90a"}), "sm_90a");
  EXPECT_EQ(target_for(89, {"sm_80", "sm_86", "sm_89", "sm_90a"}), "sm_89");
  EXPECT_EQ(target_for(87, {"sm_80", "sm_86", "sm_89"}), "sm_86");
  EXPECT_EQ(target_for(80, {"sm_90a", "sm_75"}), "none") << "Hopper's code says nothing of an A100";
  EXPECT_EQ(target_for(103, {"sm_100a", "sm_100"}), "sm_100") << "100a is for 10.0 alone";
  EXPECT_EQ(target_for(90, {""}), "none");
}

/// A cuobjdump of two cubins, of which one holds a timed kernel; it keeps a list of what it disassembled.
TEST(Cuobjdump, DisassemblesTheCubinsWithTimedKernelsAlone) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("mmaudit_cuobjdump_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string symbol = f16_symbol(1, 16);
  std::ofstream(folder / "timed.txt") << listing(symbol, loop_of(16, 1));
  const auto tool_with =
      [&](const char* extract) {
        std::ofstream(folder / "tool")
            << "#!/bin/sh\ncase \"$1\" in\n-xelf) " << extract
            << ";;\n-symbols) case \"$2\" in *timed*) echo 'FUNC GLOBAL DEFAULT ENTRY " << symbol
            << "';; *) echo 'FUNC GLOBAL DEFAULT ENTRY _Z5otherv';; esac;;\n-sass) echo \"$2\" >> "
            << (folder / "log").string() << "; cat " << (folder / "timed.txt").string() << ";;\nesac\n";
        fs::permissions(folder / "tool", fs::perms::owner_all);
        fs::remove(folder / "log");
      };
  const auto logged = [&] {
    std::ifstream in(folder / "log");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string tool = (folder / "tool").string();
  const auto sass_of = [](const std::string& cuobjdump, const char* program,
                          const std::set<std::string>& wanted) {
    return code_of_gpu(sweeps::sass_of(cuobjdump, program, wanted), 90);
  };
  const std::string readable = "Mma<Mma_m16n8k16_f32_f16_f16_f32>, 1, 16";
  tool_with("touch timed.cubin model.cubin");
  EXPECT_TRUE(sass_of(tool, "/bin/true", {readable}).contains(readable));
  EXPECT_NE(logged().find("timed.cubin"), std::string::npos);
  EXPECT_EQ(logged().find("model.cubin"), std::string::npos) << logged();
  tool_with("touch timed.cubin model.cubin");
  EXPECT_TRUE(sass_of(tool, "/bin/true", {}).contains(readable)) << "every timed kernel";
  EXPECT_TRUE(sass_of(tool, "/bin/true", {"Other<X>, 1, 16"}).empty()) << "nothing that is timed now";
  tool_with("true");  // one that can't cut a program
  EXPECT_TRUE(sass_of(tool, "/bin/true", {readable}).contains(readable));
  EXPECT_EQ(logged(), "/bin/true\n");
  EXPECT_TRUE(sass_of((folder / "none").string(), "/bin/true", {}).empty());
  fs::remove_all(folder);
}

TEST(Gate, EveryVersionOfALoopHoldsWhatItTimes) {
  const Benchmark& mma = *find_benchmark(kMma);
  const auto why = [&](int ilp, const std::vector<std::string>& loop) {
    return why_not_timed(mma, point_of(kMma, 4, ilp), kernels_of(listing(f16_symbol(ilp, 4), loop)).at(0));
  };
  EXPECT_EQ(why(1, loop_of(4, 1)), "");
  EXPECT_EQ(why(2, loop_of(4, 2)), "");
  EXPECT_EQ(why(1, loop_of(16, 1)), "") << "unrolled four times more by ptxas";
  EXPECT_NE(why(2, loop_of(4, 1)), "") << "a chain is missing";
  EXPECT_NE(why(1, loop_of(4, 1, "HMMA.1688.F32 R4, R8, R2, R4")), "") << "half of k";
  EXPECT_NE(why(1, {"HMMA.16816.F32 R4, R8, R2, R4"}), "") << "no loop";
  std::vector<std::string> spills = loop_of(4, 1);
  spills.insert(spills.begin() + 1, "STL [R1], R4");
  EXPECT_EQ(why(1, spills), "the loop spills registers");
}

TEST(Gate, WhatStandsBetweenIsCounted) {
  const Benchmark& filled = *find_benchmark("mma+fill.m16n8k16.f32.f16.f16.f32");
  Point point = points_of(filled, resolve_axes({"init=zero", "fill=2"}, false)).front();
  const std::string symbol =
      "_ZN7mmaudit6sweeps5timedINS0_6FilledINS0_28Mma_m16n8k16_f32_f16_f16_f32ELi2EEELi1ELi16EEEvNS0_"
      "9TimedArgsE";
  std::vector<std::string> loop = loop_of(16, 1);
  const auto why = [&] { return why_not_timed(filled, point, kernels_of(listing(symbol, loop)).at(0)); };
  EXPECT_EQ(kernels_of(listing(symbol, loop)).at(0).symbol, filled.kernel(point).symbol);
  EXPECT_EQ(why(), "the loop of 16 steps holds 0 of 32 the expected instructions");
  loop.insert(loop.begin() + 1, 32, "PRMT R20, R20, 0x2165, R8");
  EXPECT_EQ(why(), "");
  point.set("fill", "4");
  EXPECT_EQ(why(), "the loop of 16 steps holds 32 of 64 the expected instructions");
}

TEST(Gate, WhatOtherWarpsDoIsLookedFor) {
  const Benchmark& fed = *find_benchmark("wgmma.m64n256k16.f32.f16.f16+feed");
  const Point point = points_of(fed, resolve_axes({"a=shared"}, false)).front();
  const std::string symbol =
      "_ZN7mmaudit6sweeps5timedINS0_8FedWgmmaINS0_8FedChainELb0EEELi1ELi4EEEvNS0_9TimedArgsE";
  std::vector<std::string> loop = loop_of(4, 1, "HGMMA.64x256x16.F32 R24, gdesc[UR8], R24");
  const auto why = [&] { return why_not_timed(fed, point, kernels_of(listing(symbol, loop)).at(0)); };
  EXPECT_EQ(kernels_of(listing(symbol, loop)).at(0).symbol, fed.kernel(point).symbol);
  EXPECT_EQ(why(), "the instructions of other warps are not between the readings of the clock");
  loop.emplace_back("UBLKCP.S.G [UR10], [UR8], UR6");
  EXPECT_EQ(why(), "");
}

/// With A loaded by the warps that multiply, a turn is two groups of four.
TEST(Gate, AFedWgmmaThatLoadsHasAnLdmatrixForEach) {
  const Benchmark& fed = *find_benchmark("wgmma.m64n256k16.f32.f16.f16+feed+loads");
  const Point point = points_of(fed, resolve_axes({}, false)).front();
  const std::string symbol =
      "_ZN7mmaudit6sweeps5timedINS0_8FedWgmmaINS0_15LoadingFedChainELb1EEELi1ELi4EEEvNS0_9TimedArgsE";
  std::vector<std::string> loop = loop_of(8, 1, "HGMMA.64x256x16.F32 R24, R180, gdesc[UR8], R24");
  loop.emplace_back("UBLKCP.S.G [UR10], [UR8], UR6");
  const auto why = [&] { return why_not_timed(fed, point, kernels_of(listing(symbol, loop)).at(0)); };
  EXPECT_EQ(kernels_of(listing(symbol, loop)).at(0).symbol, fed.kernel(point).symbol);
  loop.insert(loop.begin() + 1, 7, "LDSM.16.M88.4 R180, [R13]");
  EXPECT_EQ(why(), "the loop of 8 steps holds 7 of 8 the expected instructions");
  loop.insert(loop.begin() + 1, "LDSM.16.M88.4 R176, [R13+0x800]");
  EXPECT_EQ(why(), "");
}

TEST(Gate, LoadsKeepTheirWidth) {
  const char* name = "ld.shared.v4.u32";
  const std::string symbol =
      "_ZN7mmaudit6sweeps5timedINS0_5ChaseINS0_9LoadWordsILi4EEEEELi1ELi8EEEvNS0_9TimedArgsE";
  const auto why = [&](const std::vector<std::string>& loop) {
    return why_not_timed(*find_benchmark(name), point_of(name, 1, 1),
                         kernels_of(listing(symbol, loop)).at(0));
  };
  EXPECT_EQ(why(loop_of(8, 1, "LDS.128 R4, [R4]")), "");
  EXPECT_EQ(why(loop_of(8, 1, "LDS R4, [R4]")), "the loop of 8 steps holds 0 of 8 the expected instructions");
}

/// What ptxas 13.0 made of FP8 mma whose operands stayed: two HMMA in a turn of 16 steps, which need 32.
TEST(Gate, RefusesTheHoistedKernel) {
  std::ifstream file(MMAUDIT_HOISTED);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::vector<SassKernel> kernels = kernels_of(text);
  ASSERT_EQ(kernels.size(), 1U);
  const Benchmark& fp8 = *find_benchmark(kFp8);
  const Point point = point_of(kFp8, 1, 1);
  EXPECT_EQ(fp8.kernel(point).symbol, kernels[0].symbol);
  EXPECT_EQ(why_not_timed(fp8, point, kernels[0]),
            "the loop of 16 steps holds 4096 of 65536 multiply-adds of matrix instructions");
  FakeTarget target;
  SweepResult result;
  result.provenance = target.provenance();
  SweepOptions options{{fp8}, resolve_axes({"scope=sm", "init=zero", "warps=1", "ilp=1"}, false), {}, {}};
  options.code.emplace(kernels[0].symbol, kernels[0]);
  run_sweep(target, options, {}, result);
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_TRUE(result.points[0].skipped.starts_with("refused: the loop of 16 steps"))
      << result.points[0].skipped;
  EXPECT_EQ(target.measured, 0);
}

/// The rates published once: 2992 of FP8 mma, made of HMMA of which the GPU does 2048 at most.
TEST(Gate, RefusesRatesAboveTheInstructionsOfTheCode) {
  const Benchmark& fp8 = *find_benchmark(kFp8);
  const Point point = point_of(kFp8, 16, 6);
  Measurement measured;
  measured.steps = 1024;
  const double fma = fp8.work(point).fma;
  const SassKernel code = kernels_of(listing(f16_symbol(1, 16), loop_of(16, 2))).at(0);
  EXPECT_EQ(ceiling_of(90, code), 2048);
  const Provenance gpu = FakeTarget().provenance();
  const auto at_rate = [&](double rate) {
    measured.samples.assign(21, {fma / rate, 1e-3, 1e-3, 2e9});
    return measured_point(fp8, point, measured, gpu, &code);
  };
  EXPECT_EQ(at_rate(2992).skipped, "refused: 2992 per clock, above the 2048 that the GPU can do");
  EXPECT_TRUE(at_rate(2992).summaries.empty());
  EXPECT_EQ(at_rate(1359).skipped, "");
}

/// A sweep whose code was read afterwards: the same verdicts as while it ran.
TEST(Gate, AppliesToASweepThatWasMeasured) {
  std::ifstream file(MMAUDIT_HOISTED);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const SassKernel hoisted = kernels_of(text).at(0);
  FakeTarget target;
  SweepResult result =
      sweep_of(target, {kFp8, kMma}, false, {"scope=sm", "init=zero", "warps=1", "ilp=[1,2]"});
  ASSERT_EQ(result.points.size(), 4U);
  for (Point& point : result.points) point.summaries[tag::kPerStep] = 1;  // of an earlier reading
  const int found = apply_gate(result, {{hoisted.symbol, hoisted},
                                        {"Mma<Mma_m16n8k16_f32_f16_f16_f32>, 1, 16",
                                         kernels_of(listing(f16_symbol(1, 16), loop_of(16, 1))).at(0)}});
  EXPECT_EQ(found, 2);
  int refused = 0, read = 0;
  for (const Point& point : result.points) {
    refused += point.skipped.starts_with("refused") ? 1 : 0;
    read += point.get(tag::kPerStep) == 1.0 ? 1 : 0;
    EXPECT_EQ(point.skipped.empty(), !point.summaries.empty());
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(read, 1);
}

TEST(Gate, ReadsTheKernelsOfItsPlan) {
  const SweepOptions one{{*find_benchmark(kMma)}, resolve_axes({"ilp=[1,2]"}, false), {}, {}};
  EXPECT_EQ(symbols_of(one), (std::set<std::string>{"Mma<Mma_m16n8k16_f32_f16_f16_f32>, 1, 16",
                                                    "Mma<Mma_m16n8k16_f32_f16_f16_f32>, 2, 4"}));
}

TEST(Gate, MarksAGridThatFalls) {
  std::vector<Point> points;
  for (const auto& [warps, ilp, rate] :
       {std::tuple{1, 1, 100.0}, {1, 2, 200.0}, {4, 1, 400.0}, {4, 2, 360.0}}) {
    points.push_back(point_of(kMma, warps, ilp));
    points.back().summaries = {{tag::kFma, rate}, {tag::kCyclesNoise, 0.002}};
  }
  mark_falls(points);
  for (const Point& point : points)
    EXPECT_EQ(point.get(tag::kFalls).has_value(), point.number("warps") == 4 && point.number("ilp") == 2)
        << point.key();
}

}  // namespace
}  // namespace mmaudit::sweeps::test
