// ld and st of global memory, the parameters of a kernel, and which block it is.
#include <array>

#include "programs.hpp"

namespace mmaudit::tmem {
namespace {

/// Every thread of a block copies 8 bytes from one array to another, its two words exchanged.
constexpr const char* kCopyKernel = R"(.version 8.8
.target sm_100a
.address_size 64
//! param from 0x700000001000
//! param to 0x8000
//! block 2
//! global 0x700000001000 s32 3x256 = iota
//! global 0x8000 s32 3x256
.visible .entry copy(.param .u64 from, .param .u64 to)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 128, %r2;
  mul.wide.u32 %rd3, %r3, 8;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  ld.global.v2.b32 {%r4, %r5}, [%rd1];
  st.global.v2.b32 [%rd2+0], {%r5, %r4};
  ret;
}
)";

TEST(GlobalMemory, ABlockCopiesItsPart) {
  PtxProgram program;
  ASSERT_EQ(parse_ptx(kCopyKernel, program), "");
  Interpreter interpreter(program, test::blackwell());
  ASSERT_EQ(interpreter.run(), "");
  EXPECT_EQ(interpreter.not_stored(1), 512U);
  const std::vector<std::uint64_t> to = interpreter.output(1);
  for (std::size_t i = 512; i < 768; ++i) EXPECT_EQ(to[i], (i ^ 1U) & 7U) << i;
}

TEST(GlobalMemory, WhatAKernelMayNotReadIsRefused) {
  for (const auto& [from, to, wanted] : std::vector<std::array<std::string, 3>>{
           {"[from];", "[form];", "parameter: found \"form\""},
           {"[from];", "[from+8];", "without an offset"},
           {"ld.param.u64 %rd1", "ld.param.u32 %rd1", "allowed: one of 32 bits"},
           {"param to 0x8000", "param to", "param NAME VALUE"},
           {"block 2", "block -1", "block NUMBER below 2^31"},
           {"block 2", "block 3", "allowed: one inside a \"//! global\" with a source"},
           {"[%rd1];", "[%rd2];", "allowed: one inside a \"//! global\" with a source"},
           {"[%rd2+0]", "[%rd1+0]", "allowed: one inside a \"//! global\" of elements of this width"},
           {"[%rd1];", "[%rd1+4];", "a multiple of the bytes that a thread moves (PTX ISA 9.0, 6.4.1)"},
           {"[%rd2+0]", "[%rd2+4]", "a multiple of the bytes that a thread moves (PTX ISA 9.0, 6.4.1)"},
           {"ld.global.v2", "ld.local.v2", "ld.param, and ld and st .shared and .global"},
           {"s32 3x256 = iota", "s32 3x256 = file", "something after file"}}) {
    std::string text = kCopyKernel;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const std::string reason = test::run_text(text);
    EXPECT_NE(reason.find(wanted), std::string::npos) << to << ": " << reason;
  }
}

TEST(Blocks, TheSecondCtaOfAClusterIsTheNextBlock) {
  PtxProgram program;
  ASSERT_EQ(parse_ptx(R"(.version 8.8
.target sm_100a
.address_size 64
//! block 4
//! shared words 0x1000 u8 1x4 cta 1 = zero
//! global 0x8000 s32 2x128
.visible .entry blocks()
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 128, %r2;
  mul.wide.u32 %rd1, %r3, 4;
  add.u64 %rd1, %rd1, 0x8000;
  mov.u32 %r4, %ctaid.x;
  st.global.b32 [%rd1], %r4;
  ret;
}
)",
                      program),
            "");
  Interpreter interpreter(program, test::blackwell());
  ASSERT_EQ(interpreter.run(), "");
  const std::vector<std::uint64_t> out = interpreter.output(1);
  ASSERT_EQ(out.size(), 256U);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(out[i], i < 128 ? 4U : 5U) << i;
}

}  // namespace
}  // namespace mmaudit::tmem
