// Forms of tcgen05.mma beside the plain one: disabled lanes, collectors, scaled D, shifted A. Which barriers
// a commit arrives at, and what it tracks.
#include "base_program.hpp"
#include "mmaudit/tensor_memory/rules.hpp"

namespace mmaudit::tmem {
namespace {

using namespace test;

TEST(Forms, MaskedLanesKeepTheirD) {
  // Lanes 0, 1 and 64 are not written: they keep what the store put there.
  std::string text = base();
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(kStore,
          "mov.u32 %r40, 3;\nmov.u32 %r41, 0;\nmov.u32 %r42, 1;\ntcgen05.st.sync.aligned.32x32b.x2.b32 "
          "[%r6], {%r1, %r2};");
  replace(kMma,
          "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, {%r40, %r41, %r42, %r41}, %p3;");
  PtxProgram program;
  ASSERT_EQ(parse_ptx(text, program), "");
  Interpreter interpreter(program, test::blackwell());
  ASSERT_EQ(interpreter.run(), "");
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool kept = lane == 0 || lane == 1 || lane == 64;
    EXPECT_EQ(interpreter.cta(0).memory.at(lane, 0), kept ? static_cast<std::uint32_t>(lane) : 0U) << lane;
  }
}

// Two CTAs: four masks for the lanes of the first one, then four for the second one's.
TEST(Forms, EveryCtaHasMasksOfItsOwn) {
  std::string text = kZeros + "//! shared words 0x1000 u8 1x32768 cta 1 = zero\n" +
                     test::prologue("128", "2") + kADesc + "\n" + kBDesc +
                     "\nmov.b32 %r4, 0x10100010;\n" +  // M = 256, N = 64
                     "mov.u32 %r40, 3;\nmov.u32 %r41, 0;\nmov.u32 %r42, 1;\nmov.u32 %r43, 0x80000000;\n"
                     "add.u32 %r44, %r1, 1;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r44};\n"
                     "tcgen05.wait::st.sync.aligned;\n"
                     "@%p6 tcgen05.mma.cta_group::2.kind::f16 [%r3], %rd1, %rd2, %r4, "
                     "{%r40, %r41, %r42, %r41, %r41, %r43, %r41, %r40}, %p3;\n" +
                     test::commit_and_wait("2") + test::epilogue("128", "2");
  PtxProgram program;
  ASSERT_EQ(parse_ptx(text, program), "");
  Interpreter interpreter(program, test::blackwell());
  ASSERT_EQ(interpreter.run(), "");
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto stored = static_cast<std::uint32_t>(lane + 1);
    const bool first = lane == 0 || lane == 1 || lane == 64, second = lane == 63 || lane == 96 || lane == 97;
    EXPECT_EQ(interpreter.cta(0).memory.at(lane, 0), first ? stored : 0U) << lane;
    EXPECT_EQ(interpreter.cta(1).memory.at(lane, 0), second ? stored : 0U) << lane;
  }
}

TEST(Forms, CollectorReuseKnowsItsMatrix) {
  std::string text = base();
  const std::string
      fill = "@%p2 tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r3], %rd1, %rd2, %r4, %p3;\n",
      use = "@%p2 tcgen05.mma.cta_group::1.kind::f16.collector::a::use [%r3], %rd1, %rd2, %r4, %p4;\n",
      last = "@%p2 tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse [%r3], %rd1, %rd2, %r4, %p4;\n",
      other = "@%p2 tcgen05.mma.cta_group::1.kind::f16.collector::a::use [%r3], %rd2, %rd2, %r4, %p4;\n";
  const auto run_with = [&](const std::string& mmas) {
    std::string changed = text;
    return run_case(changed.replace(changed.find(kMma), std::string(kMma).size(), mmas));
  };
  EXPECT_EQ(run_with(fill + use + use + last), "");
  EXPECT_NE(run_with(fill + last + use).find("an empty one"), std::string::npos);
  EXPECT_NE(run_with(fill + other).find("another matrix"), std::string::npos);
  EXPECT_NE(
      run_with(fill +
               "@%p2 st.shared.b32 [4096], %r10;\nmov.u32 %r50, 7;\n@%p2 st.shared.b32 [4096], %r50;\n" + use)
          .find("changed since"),
      std::string::npos);
}

TEST(Forms, ScaleInputDIsExactOrRefused) {
  // D holds 1.0, then 2^-149: times 2^-3 the first is 0.125, the second is not a binary32.
  for (const auto& [bits, wanted] : {std::pair{"0x3F800000", "0x3E000000"}, std::pair{"0x00000001", ""}}) {
    std::string text = base();
    const auto replace = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    std::string store =
        std::string("mov.u32 %r40, ") + bits + ";\ntcgen05.st.sync.aligned.32x32b.x64.b32 [%r6], {";
    for (int i = 0; i < 64; ++i) store += i == 0 ? "%r40" : ", %r40";
    replace(kStore, store + "};");
    replace(kMma, "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p4, 3;");
    PtxProgram program;
    ASSERT_EQ(parse_ptx(text, program), "");
    Interpreter interpreter(program, test::blackwell());
    const std::string reason = interpreter.run();
    if (std::string(wanted).empty())
      EXPECT_NE(reason.find(not_modelled(gap("scale_d_rounds"))), std::string::npos) << reason;
    else
      EXPECT_EQ(test::hex(interpreter.cta(0).memory.at(5, 17)), "0x3e000000") << reason;
  }
}

TEST(Forms, AshiftTakesTheRowAfter) {
  // A in tensor memory: 32-bit words that cp put there; the same MMA with .ashift gives D one lane up.
  const auto d_of = [](const std::string& qualifier, const std::string& before = "") {
    std::string text = base();
    const auto replace = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    replace(kCopy, "@%p2 tcgen05.cp.cta_group::1.128x256b [%r3+100], %rd1;");
    replace(kMma, before + "@%p2 tcgen05.mma.cta_group::1.kind::f16" + qualifier +
                      " [%r3], [%r3+100], %rd2, %r4, %p3;");
    text.insert(kZeros.size(),
                "//! shared a 0x0000400800800100 f16 128x16 = random 1\n//! shared b 0x0000400800400300 f16 "
                "16x64 = random 2\n");
    PtxProgram program;
    EXPECT_EQ(parse_ptx(text, program), "");
    Interpreter interpreter(program, test::blackwell());
    EXPECT_EQ(interpreter.run(), "");
    std::vector<std::uint32_t> d(kLanes);
    for (int lane = 0; lane < kLanes; ++lane)
      d[static_cast<std::size_t>(lane)] = interpreter.cta(0).memory.at(lane, 33);
    return d;
  };
  const std::vector<std::uint32_t> plain = d_of(""), shifted = d_of(".ashift");
  EXPECT_NE(plain[0], plain[1]);
  for (std::size_t lane = 0; lane < 127; ++lane) EXPECT_EQ(shifted[lane], plain[lane + 1]);
  EXPECT_EQ(shifted[127], plain[127]);
  // The collector buffer holds A before .ashift, so a filled A can be used with it.
  const std::vector<std::uint32_t> collected =
      d_of(".ashift.collector::a::lastuse",
           "@%p2 tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r3], [%r3+100], %rd2, %r4, %p3;\n");
  EXPECT_EQ(collected, shifted);
}

// The mask of a multicast says which CTAs' barriers it arrives at; here the first CTA alone has one.
TEST(Commit, ArrivesAtTheCtasOfItsMask) {
  const auto run_with = [](const std::string& mask) {
    std::string text = test::prologue("128", "2");
    const std::string init = "@%p2 mbarrier.init";
    text.replace(text.find(init), init.size(), "@%p6 mbarrier.init");
    return test::run_text(text +
                          "@%p6 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
                          ".multicast::cluster.b64 [smem+8], " +
                          mask + ";\n" + test::epilogue("128", "2"));
  };
  const std::string refused{rule("mbarrier_init").allowed};
  EXPECT_EQ(run_with("1"), "");
  EXPECT_NE(run_with("2").find(refused), std::string::npos) << run_with("2");
  EXPECT_NE(run_with("3").find(refused), std::string::npos) << run_with("3");
}

// The copy is committed twice, and the barrier of the later commit alone is waited for.
TEST(Commit, TracksWhatAnEarlierOneTracks) {
  std::string text = base();
  const std::string early =
      "@%p2 mbarrier.init.shared::cta.b64 [smem+16], 1;\n"
      "@%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [smem+16];\n";
  text.insert(text.find(kMma), early);
  EXPECT_EQ(run_case(text), "");
}

}  // namespace
}  // namespace mmaudit::tmem
