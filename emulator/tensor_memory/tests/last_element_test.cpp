// The last element of every memory and the one behind it, and integers at the ends of their types.
#include <string>
#include <utility>
#include <vector>

#include "programs.hpp"

namespace mmaudit::tmem {
namespace {

constexpr std::uint64_t kEnd = 232448;  // of shared memory: 227 KiB

/// Every thread stores its %r2 into its element of an output of 128.
std::string storing(const std::string& body, const std::string& to = "[%rd9]") {
  return ".version 8.8\n.target sm_100a\n.address_size 64\n"
         "//! global 0x8000 s32 1x128\n"
         "//! global 0x10000 s32 1x127 = iota\n"
         ".visible .entry kernel()\n{\n"
         ".reg .b32 %r<40>;\n.reg .b64 %rd<10>;\n.reg .pred %p<10>;\n"
         "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd9, %r1, 4;\nadd.u64 %rd9, %rd9, 0x8000;\n" +
         body + "st.global.b32 " + to + ", %r2;\nret;\n}\n";
}

/// What the threads stored.
std::vector<std::uint64_t> stored(const std::string& body) {
  PtxProgram program;
  EXPECT_EQ(parse_ptx(storing(body), program), "");
  Interpreter interpreter(program, test::blackwell());
  EXPECT_EQ(interpreter.run(), "") << body;
  return interpreter.output(0);
}
std::uint64_t stored_by_first(const std::string& body) { return stored(body).at(0); }

bool refuses(const std::string& text, const std::string& why) {
  const std::string reason = test::run_text(text);
  if (reason.find(why) != std::string::npos) return true;
  ADD_FAILURE() << "found \"" << reason << "\", expected " << why;
  return false;
}

TEST(LastElement, OfSharedMemory) {
  const auto at = [](std::uint64_t address) { return "[" + std::to_string(address) + "]"; };
  const std::string keeps = "mov.u32 %r2, 5;\nmov.u32 %r3, 6;\n";
  for (const auto& [type, bytes] : {std::pair{"b8", 1}, {"b16", 2}, {"b32", 4}}) {
    const std::string suffix = std::string(".shared.") + type + " ";
    // NOLINTBEGIN(performance-inefficient-string-concatenation): a test
    EXPECT_EQ(stored_by_first("mov.u32 %r3, 6;\nst" + suffix + at(kEnd - bytes) + ", %r3;\nld" + suffix +
                              "%r2, " + at(kEnd - bytes) + ";\n"),
              6U)
        << type;
    EXPECT_TRUE(refuses(storing(keeps + "st" + suffix + at(kEnd) + ", %r3;\n"), std::to_string(kEnd)));
    EXPECT_TRUE(refuses(storing(keeps + "ld" + suffix + "%r4, " + at(kEnd) + ";\n"), std::to_string(kEnd)));
    // NOLINTEND(performance-inefficient-string-concatenation)
  }
  // The second half of a vector.
  EXPECT_TRUE(refuses(storing(keeps + "st.shared.v2.b32 " + at(kEnd) + ", {%r2, %r3};\n"), "found"));
  EXPECT_TRUE(refuses(storing(keeps + "st.shared.v2.b32 " + at(kEnd - 4) + ", {%r2, %r3};\n"), "multiple"));
}

TEST(LastElement, OfAGlobalThatIsStored) {
  EXPECT_EQ(stored("mov.u32 %r2, %r1;\n").back(), 127U);
  EXPECT_TRUE(refuses(storing("mov.u32 %r2, 5;\n", "[%rd9+4]"), "elements of this width"));
  EXPECT_TRUE(refuses(storing("mov.u32 %r2, 5;\n", "[%rd9+-4]"), "elements of this width"));
}

TEST(LastElement, OfAGlobalThatIsLoaded) {
  const auto load = [](const std::string& type, const std::string& to, int offset) {
    return "mov.b64 %rd1, 0x10000;\nmov.u32 %r2, 5;\nld.global." + type + " " + to + ", [%rd1+" +
           std::to_string(offset) + "];\n";
  };
  EXPECT_EQ(stored_by_first(load("b32", "%r2", 126 * 4)), 126U & 7U);
  EXPECT_TRUE(refuses(storing(load("b32", "%r2", 127 * 4)), "with a source"));
  EXPECT_TRUE(refuses(storing(load("b64", "%rd2", 126 * 4)), "with a source"));  // half of it is inside
}

TEST(LastElement, OfAMatrix) {
  // A begins behind the last byte: its first element of 8 bits is the first byte that is not there.
  std::string text = test::kZeros + test::prologue();
  text += "mov.b64 %rd1, " + test::hex(test::plain_descriptor(kEnd, 128)) + ";\n";
  text += "mov.b64 %rd2, " + test::hex(test::plain_descriptor(0x3000, 64)) + ";\n";
  text +=
      "mov.b32 %r4, 0x08100010;\n@%p2 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], %rd1, %rd2, %r4, %p3;\n";
  EXPECT_TRUE(refuses(text + test::commit_and_wait() + test::epilogue(), "found " + std::to_string(kEnd)));
}

TEST(LastElement, OfTensorMemory) {
  TensorMemory memory;
  std::uint32_t address = 0;
  ASSERT_EQ(memory.allocate(64, address), "");
  EXPECT_EQ(memory.why_not({0, 64}), "");
  EXPECT_NE(memory.why_not({0, 65}), "");
  EXPECT_NE(memory.why_not({63, 2}), "");
  TensorMemory all;
  ASSERT_EQ(all.allocate(512, address), "");
  EXPECT_EQ(all.why_not({0, 512}), "");
  EXPECT_NE(all.why_not({1, 512}), "");
  EXPECT_NE(all.why_not({511, 2}), "");
}

TEST(TensorMemory, WhatIsFreedIsUnwritten) {
  TensorMemory memory;
  std::uint32_t address = 0;
  ASSERT_EQ(memory.allocate(32, address), "");
  memory.set(127, 31, 7);
  ASSERT_TRUE(memory.written(127, 31));
  ASSERT_EQ(memory.deallocate(address, 32), "");
  ASSERT_EQ(memory.allocate(32, address), "");
  EXPECT_FALSE(memory.written(127, 31));
}

TEST(TensorMemory, AllRowsButTheLastTakeTheRowAfter) {
  TensorMemory memory;
  for (int row = 0; row < 128; ++row) memory.set(row, 8, static_cast<std::uint32_t>(row));
  memory.shift_down(32, 8);
  for (int row = 0; row < 128; ++row)
    EXPECT_EQ(memory.at(row, 8), static_cast<std::uint32_t>(row >= 32 && row < 63 ? row + 1 : row)) << row;
}

TEST(Integers, AreComparedWithAndWithoutASign) {
  const auto compared = [](const std::string& type, const std::string& x, const std::string& y) {
    const std::string bits = "b" + type.substr(1), reg = bits == "b64" ? "%rd" : "%r1";
    return stored_by_first("mov." + bits + " " + reg + "1, " + x + ";\nmov." + bits + " " + reg + "2, " + y +
                           ";\nsetp.gt." + type + " %p1, " + reg + "1, " + reg +
                           "2;\nselp.b32 %r2, 1, 0, %p1;\n");
  };
  for (const char* const type : {"u32", "u64"}) {
    EXPECT_EQ(compared(type, "-1", "1"), 1U) << type;  // the largest
    EXPECT_EQ(compared(type, "1", "-1"), 0U) << type;
  }
  for (const char* const type : {"s32", "s64"}) {
    EXPECT_EQ(compared(type, "-1", "1"), 0U) << type;
    EXPECT_EQ(compared(type, "1", "-1"), 1U) << type;
  }
}

TEST(Integers, AreShiftedByAsMuchAsTheirWidthAndMore) {
  const auto shifted = [](const std::string& operation, const std::string& x, int by) {
    const bool wide = operation.ends_with("64");
    const std::string reg = wide ? "%rd" : "%r1";
    return stored_by_first("mov.b" + std::string(wide ? "64 " : "32 ") + reg + "1, " + x + ";\n" + operation +
                           " " + reg + "2, " + reg + "1, " + std::to_string(by) + ";\n" +
                           (wide ? "cvt.u32.u64 %r2, %rd2;\n" : "mov.u32 %r2, %r12;\n"));
  };
  constexpr std::uint64_t kOnes = 0xFFFFFFFF;
  for (const int by : {63, 64, 65, 200}) {
    EXPECT_EQ(shifted("shr.s64", "-8", by), kOnes) << by;
    EXPECT_EQ(shifted("shr.s64", "8", by), 0U) << by;
    EXPECT_EQ(shifted("shr.u64", "-8", by), by == 63 ? 1U : 0U) << by;
    EXPECT_EQ(shifted("shl.b64", "-8", by), 0U) << by;
  }
  for (const int by : {31, 32, 33, 64}) {
    EXPECT_EQ(shifted("shr.s32", "-8", by), kOnes) << by;
    EXPECT_EQ(shifted("shr.u32", "-8", by), by == 31 ? 1U : 0U) << by;
  }
}

TEST(Integers, AWideProductHasTwiceTheBits) {
  EXPECT_EQ(stored_by_first("mov.u32 %r3, 0x50000;\nmov.u32 %r4, 0x10000;\nmul.wide.u32 %rd1, %r3, %r4;\n"
                            "shr.u64 %rd2, %rd1, 32;\ncvt.u32.u64 %r2, %rd2;\n"),
            5U);
}

TEST(Integers, ASignedByteFillsTheRegister) {
  for (const auto& [type, expected] : {std::pair{"s8", 0xFFFFFF80U}, {"u8", 0x80U}})
    EXPECT_EQ(stored_by_first("mov.u32 %r3, 0x80;\nst.shared.b8 [64], %r3;\nld.shared." + std::string(type) +
                              " %r2, [64];\n"),
              expected);
}

TEST(Elect, TakesTheFirstLaneOfTheMask) {
  const std::vector<std::uint64_t> found = stored(
      "and.b32 %r3, %r1, 31;\nsetp.ge.u32 %p1, %r3, 3;\nmov.u32 %r2, 99;\nsetp.ne.u32 %p2, %r1, %r1;\n"
      "@%p1 elect.sync %r2|%p2, 0xFFFFFFF8;\n@%p2 add.u32 %r2, %r2, 100;\n");
  for (std::size_t thread = 0; thread < 128; ++thread)
    EXPECT_EQ(found[thread], thread % 32 < 3 ? 99U : thread % 32 == 3 ? 103U : 3U) << thread;
}

}  // namespace
}  // namespace mmaudit::tmem
