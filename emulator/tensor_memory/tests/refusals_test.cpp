// Programs with one illegal operand each: every one must be refused for its own reason, and the program
// without that operand must run.
#include <algorithm>
#include <set>

#include "base_program.hpp"
#include "mmaudit/tensor_memory/rules.hpp"

namespace mmaudit::tmem {
namespace {

using namespace test;

/// One case: the name of the rule or gap, a program, and the text in it that becomes another.
struct Case {
  const char* rule;
  std::string program, from, to;
};

std::vector<Case> cases() {
  const std::string plain = base();
  const std::string f16 = "kind::f16 [%r3], %rd1, %rd2, %r4, %p3;";
  const std::string scaled = with_mma(kScaled, "0x08900000", kScaleCopies),
                    fours = with_mma(kFours, "0x08900480", kScaleCopies), sparse = metadata_base(kSparse),
                    ws = with_mma(kStationary, "0x08100010"),
                    sparse_ws = with_mma(kStationarySparse, "0x04100014");
  return {
      {"alloc_columns", plain, kAlloc,
       "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 96;"},
      {"alloc_columns", plain, kAlloc,
       "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 16;"},
      {"alloc_columns", plain, kAlloc,
       "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 1024;"},
      {"alloc_growth", plain, kAlloc,
       std::string(kAlloc) +
           "\n@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem+32], 256;"},
      {"alloc_permit", plain, kDealloc,
       std::string(kDealloc) + "\n@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" +
           kAlloc},
      {"alloc_blocks", plain, kAlloc, "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 256;"},
      {"dealloc_match", plain, kDealloc, "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;"},
      {"dealloc_exit", plain, kDealloc, ""},
      {"cta_group_same", plain, kDealloc, "@%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 128;"},
      {"single_thread", plain, kMma, "tcgen05.mma.cta_group::1." + f16},
      {"single_thread", plain, kCommit,
       "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [smem+8];"},
      {"whole_warp", plain, kLoad, "@%p2 tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6];"},
      {"uniform_address", plain, kLoad,
       "add.u32 %r7, %r6, %r1;\ntcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r7];"},
      {"warp_lanes", plain, kLoad, "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r3];"},
      {"warp_lanes", plain, kStore, "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3+64], {%r1, %r2};"},
      {"ld_half_lane", plain, kLoad, "tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r20, %r21}, [%r6+524288];"},
      {"columns_end", plain, kLoad, "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6+511];"},
      {"columns_allocated", plain, kLoad, "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6+127];"},
      // 40 columns of B have their scales in two columns.
      {"columns_allocated", with_mma(kScaled, "0x088A0000", kScaleCopies), "[%r3+84], %p3", "[%r3+127], %p3"},
      {"ld_shape", plain, kLoad, "tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r20, %r21}, [%r6];"},
      {"ld_registers", plain, kLoad, "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r20, %r21}, [%r6];"},
      {"ld_split", plain, kLoad, "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r20, %r21}, [%r6];"},
      {"ld_split", plain, kLoad, "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6], 8;"},
      {"ld_red", plain, kLoad, "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r20, %r21}, %r23, [%r6];"},
      {"shift_lane", plain, kCopy, "@%p2 tcgen05.shift.cta_group::1.down [%r3+1048672];"},
      {"cp_shape", plain, kCopy, "@%p2 tcgen05.cp.cta_group::1.256x128b [%r3+100], %rd3;"},
      {"cp_multicast", plain, kCopy, "@%p2 tcgen05.cp.cta_group::1.64x128b [%r3+100], %rd3;"},
      {"cp_multicast", plain, kCopy, "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx2::02_13 [%r3+100], %rd3;"},
      {"cp4", plain, kCopy, "@%p2 tcgen05.cp.cta_group::1.4x256b [%r3+100], %rd3;"},
      {"decompress", plain, kCopy, "@%p2 tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64 [%r3+100], %rd3;"},
      {"cp_lane", plain, kCopy, "@%p2 tcgen05.cp.cta_group::1.128x128b [%r3+2097252], %rd3;"},
      {"descriptor_version", plain, kADesc, "mov.b64 %rd1, 0x0000000800800100;"},
      {"descriptor_zero", plain, kADesc, "mov.b64 %rd1, 0x0020400800800100;"},
      {"descriptor_swizzle", plain, kADesc, "mov.b64 %rd1, 0x6000400800800100;"},
      {"atom32", plain, kADesc, "mov.b64 %rd1, 0x2000400800800100;"},
      {"base_offset", plain, kADesc, "mov.b64 %rd1, 0x0002400800800100;"},
      {"absolute_leading", plain, kADesc, "mov.b64 %rd1, 0x0010400800800100;"},
      {"ld_alignment", plain, kStore, std::string(kStore) + "\nld.shared.v2.b32 {%r24, %r25}, [smem+4];"},
      {"shared_end", plain, kBDesc, "mov.b64 %rd2, 0x0000400800403FFF;"},
      {"shape_m", plain, kIdesc, "mov.b32 %r4, 0x06100010;"},
      {"shape_m", plain, kIdesc, "mov.b32 %r4, 0x10100010;"},
      {"shape_n", plain, kIdesc, "mov.b32 %r4, 0x08000010;"},
      {"shape_n", plain, kIdesc, "mov.b32 %r4, 0x08420010;"},
      {"shape_n", ws, "0x08100010", "0x08140010"},
      {"shape_ws", ws, kStationary,
       "@%p2 tcgen05.mma.ws.cta_group::1.kind::mxf8f6f4.block_scale [%r3], %rd1, %rd2, %r4, [%r3+64], "
       "[%r3+64], %p3;\n// "},
      {"idesc_reserved", plain, kIdesc, "mov.b32 %r4, 0x08100050;"},
      {"idesc_sparse", plain, kIdesc, "mov.b32 %r4, 0x08100014;"},
      {"idesc_sparse", sparse, "0x08100014", "0x08100010"},
      {"idesc_d", plain, kIdesc, "mov.b32 %r4, 0x08100020;"},
      {"idesc_a", plain, kIdesc, "mov.b32 %r4, 0x08100110;"},
      {"idesc_b", plain, kIdesc, "mov.b32 %r4, 0x08100410;"},
      {"idesc_saturate", plain, kIdesc, "mov.b32 %r4, 0x08100018;"},
      {"idesc_shift", plain, kIdesc, "mov.b32 %r4, 0x48100010;"},
      {"idesc_negate",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::i8 [%r3], %rd1, %rd2, %r4, %p3;", "0x08100020"),
       "0x08100020", "0x08102020"},
      {"kind_target",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::i8 [%r3], %rd1, %rd2, %r4, %p3;", "0x08100020"),
       "sm_100a", "sm_103a"},
      {"transpose_n",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], %rd1, %rd2, %r4, %p3;", "0x08110010"),
       "0x08110010", "0x08130010"},
      {"transpose_width",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], %rd1, %rd2, %r4, %p3;", "0x08100010"),
       "0x08100010", "0x08108290"},
      {"idesc_transpose", fours, "0x08900480", "0x08908480"},
      {"idesc_scale", fours, "0x08900480", "0x08100480"},
      {"k96", fours, "0x08900480", "0x88900480"},
      {"scale_vec", fours, ".scale_vec::2X", ".scale_vec::1X"},
      {"scale_vec", fours, ".scale_vec::2X", ""},
      {"scale_id", fours, "0x08900480", "0x28900480"},
      {"block_scale", scaled, ".block_scale.scale_vec::1X", ""},
      {"scale_lane", scaled, "[%r3+80], [%r3+84], %p3", "[%r3+1048656], [%r3+84], %p3"},
      {"place_scales", scaled, "[%r3+80], [%r3+84], %p3", "%r3, [%r3+84], %p3"},
      {"scale_copies", scaled, kScaleCopies,
       "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r6+80], {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};\n"
       "tcgen05.wait::st.sync.aligned;\n"},
      {"disable_size", scaled, "[%r3+84], %p3", "[%r3+84], {%r1, %r1, %r1, %r1}, %p3"},
      {"place_d", plain, kMma, "@%p2 tcgen05.mma.cta_group::1.kind::f16 %r3, %rd1, %rd2, %r4, %p3;"},
      {"place_a", plain, kMma, "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], {%r1, %r2}, %rd2, %r4, %p3;"},
      {"place_b", plain, kMma, "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, [%r3+100], %r4, %p3;"},
      {"place_metadata", sparse, "[%r3+100], %r4", "%rd3, %r4"},
      {"metadata_index", sparse, kMetadataFill, "//! shared words 0x8000 u8 1x2048 = zero\n"},
      {"metadata_selector", sparse, "0x08100014", "0x08100015"},
      {"sparse_selector",
       metadata_base("@%p2 tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%r3], %rd1, %rd2, [%r3+100], %r4, %p3;"),
       "0x08100014", "0x08100015"},
      {"transpose_swizzle",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::tf32 [%r3], %rd1, %rd2, %r4, %p3;", "0x08100910"),
       "0x08100910", "0x08108910"},
      {"metadata_half", sparse, "0x08100014", "0x04100014"},
      {"metadata_copies", sparse_ws, "setp.ge.u32 %p7, %r1, 128;", "setp.ge.u32 %p7, %r1, 64;"},
      {"idesc_sparse", sparse_ws, "0x04100014", "0x04100010"},
      {"shape_n", sparse_ws, "0x04100014", "0x04400014"},
      {"mma_operands", plain, kMma,
       "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p3, 1, 2;"},
      {"lane_alignment", plain, kMma,
       "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3+1048576], %rd1, %rd2, %r4, %p3;"},
      {"lane_same", plain, kMma,
       "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r3+1048676], %rd2, %r4, %p3;"},
      {"written", plain, kMma, "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p4;"},
      {"written", plain, kMma, "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r3+112], %rd2, %r4, %p3;"},
      {"narrow_a_tmem",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], %rd1, %rd2, %r4, %p3;", "0x08100290"),
       "[%r3], %rd1", "[%r3], [%r3+100]"},
      {"a_tmem_ws",
       with_mma("@%p2 tcgen05.mma.ws.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p3;", "0x04100010"),
       "[%r3], %rd1", "[%r3], [%r3+100]"},
      {"ashift_a", plain, kMma,
       "@%p2 tcgen05.mma.cta_group::1.kind::f16.ashift [%r3], %rd1, %rd2, %r4, %p3;"},
      {"ashift_m",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p3;", "0x04100010"),
       "kind::f16 [%r3], %rd1", "kind::f16.ashift [%r3], [%r3+100]"},
      {"ashift_collector", plain, "kind::f16 [%r3], %rd1",
       "kind::f16.ashift.collector::a::fill [%r3], [%r3+100]"},
      {"collector_op", plain, "kind::f16 [%r3]", "kind::f16.collector::a::keep [%r3]"},
      {"collector_op", plain, "kind::f16 [%r3]", "kind::f16.collector::b0::fill [%r3]"},
      {"collector_filled", plain, "kind::f16 [%r3]", "kind::f16.collector::a::use [%r3]"},
      {"disable_size", plain, "%r4, %p3", "%r4, {%r1, %r1}, %p3"},
      {"scale_d_range", plain, "%r4, %p3", "%r4, %p3, 16"},
      {"scale_d_kind",
       with_mma("@%p2 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], %rd1, %rd2, %r4, %p3;", "0x08100010"),
       "%r4, %p3", "%r4, %p3, 1"},
      {"mask_reserved", ws, "%r4, %p3", "%r4, %p3, 0x1000000000"},
      {"mask_shift", ws, "%r4, %p3", "%r4, %p3, 0x100000000000000"},
      {"qualifier", plain, "kind::f16 [%r3]", "kind::f17 [%r3]"},
      {"qualifier", plain, "kind::f16 [%r3]", "kind::f16.kind::f16 [%r3]"},
      {"qualifier", plain, "kind::f16 [%r3]", "kind::f16.collector::a::fill.collector::a::use [%r3]"},
      {"qualifier", plain, "ld.sync.aligned.32x32b.x2.b32", "ld.32x32b.x2.b32"},
      {"qualifier", plain, "ld.sync.aligned.32x32b.x2.b32", "ld.sync.aligned.32x32b.x2"},
      {"qualifier", plain, "wait::ld.sync.aligned", "wait::ld"},
      {"qualifier", plain, "cp.cta_group::1.128x128b", "cp.128x128b"},
      {"qualifier", plain, "dealloc.cta_group::1.sync.aligned.b32", "dealloc.cta_group::1.sync.aligned.u32"},
      {"qualifier", plain, "sync.aligned.shared::cta.b32 [smem]", "sync.aligned.global.b32 [smem]"},
      {"qualifier", plain, "one.shared::cluster.b64", "one.shared::cta.b64"},
      {"uniform_operand", plain, kDealloc, "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;"},
      {"uniform_operand", plain, kAlloc,
       "add.u32 %r40, %r1, 32;\n@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], %r40;"},
      {"uniform_operand", plain, kAlloc,
       "shl.b32 %r40, %r1, 2;\n@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r40], 128;"},
      {"alloc_columns", plain, kAlloc,
       "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 4294967424;"},
      {"mbarrier_parity", plain, "[smem+8], 0;\n@!%p9", "[smem+8], 2;\n@!%p9"},
      {"elect_mask", plain, kStore, "elect.sync _|%p7, 0xFFFFFFFE;\n" + std::string(kStore)},
      {"shared_written", plain, kADesc, "mov.b64 %rd1, 0x0000400800800900;"},
      {"shared_written", plain, kBDesc, "mov.b64 %rd2, 0x0000400800400900;"},
      {"written", scaled, kZeros,
       "//! shared words 0x1000 u8 1x28672 = zero\n"},  // scales are a copy of nothing
      {"branch", plain, kMma, std::string(kMma) + "\n@%p2 ret;"},
      {"loop", "x:\nbra y;\ny:\nret;\n", "bra y;", "bra x;"},
      {"qualifier", plain, "kind::f16 [%r3]", "kind::f16.fast [%r3]"},
      {"order_st", plain, "tcgen05.wait::st.sync.aligned;\n",
       "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6+64];\n"},
      {"order_ld", plain, "tcgen05.wait::ld.sync.aligned;\n", ""},
      {"order_async", plain, kCommit, std::string(kLoad) + kCommit},
      {"order_async", plain, kCommit,  // of a thread that issued nothing
       "setp.eq.u32 %p7, %r1, 40;\n@%p7 "
       "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
       "[smem+8];"},
      {"order_async", plain, kMma,
       std::string(kMma) + "\n@%p2 tcgen05.cp.cta_group::1.128x128b [%r3], %rd3;"},
      {"order_fence", plain, kFence, ""},
      {"mbarrier_init", plain, kCommit,
       "@%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [smem+16];"},
      {"wait_forever", plain, kCommit, ""},
      {"branch", plain, "@!%p9 bra wait;", "@%p1 bra wait;"},
  };
}

TEST(Refusals, EveryIllegalOperandIsRefusedForItsReason) {
  std::set<std::string> rules;
  const std::vector<Case> all = cases();
  EXPECT_GE(all.size(), 40U);
  for (const Case& one : all) {
    std::string text = one.program;
    const auto at = text.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.rule << ": " << one.from;
    text.replace(at, one.from.size(), one.to);
    const std::string reason = run_case(text);
    const bool is_rule =
        std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& x) { return x.name == one.rule; });
    const std::string wanted = is_rule ? std::string(rule(one.rule).allowed) + " (PTX ISA 9.0, " +
                                             std::string(rule(one.rule).section)
                                       : not_modelled(gap(one.rule));
    EXPECT_NE(reason.find(wanted), std::string::npos)
        << one.rule << ": " << one.to << "\n  refused with: " << reason;
    if (is_rule) {
      EXPECT_NE(reason.find(std::string(rule(one.rule).field) + ": found "), std::string::npos) << reason;
    }
    rules.insert(one.rule);
  }
  // A rule that no case needs is a rule that no test checks.
  for (const Rule& one : kRules) EXPECT_TRUE(rules.contains(std::string(one.name))) << one.name;
}

TEST(Refusals, TheProgramsWithoutTheOperandRun) {
  std::set<std::string> programs;
  for (const Case& one : cases()) programs.insert(one.program);
  EXPECT_GE(programs.size(), 6U);
  for (const std::string& text : programs) {
    const std::string reason = run_case(text);
    // A kind of narrow formats needs no data to be legal: everything is zero.
    EXPECT_EQ(reason, "") << text;
  }
}

TEST(Refusals, BlockScaledSparseIsNotModelled) {
  std::string mma = kScaled;
  mma.replace(mma.find("tcgen05.mma"), 11, "tcgen05.mma.sp");
  mma.replace(mma.find("%rd2, %r4"), 9, "%rd2, [%r3+100], %r4");
  const std::string reason = run_case(with_mma(mma, "0x08900004", kScaleCopies));
  EXPECT_NE(reason.find(not_modelled(gap("sparse_scaled"))), std::string::npos) << reason;
}

TEST(Refusals, MessagesNameLineInstructionFoundAndAllowed) {
  std::string text = base();
  text.replace(text.find(kAlloc), std::string(kAlloc).size(),
               "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 96;");
  EXPECT_EQ(run_case(text),
            "line 22: @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 96: nCols: found "
            "96, allowed: 32, 64, 128, "
            "256 or 512 (PTX ISA 9.0, 9.7.16.7.1)");
}

TEST(Refusals, WhatPtxasWouldNotTakeIsRefused) {
  using Change = std::pair<std::string, std::string>;
  for (const auto& [change, wanted] : std::vector<std::pair<Change, std::string>>{
           {{"%r<300>", "%r<4>"}, "register: found %r10, allowed: one that .reg declares"},
           {{"%r<300>", "%r<4000000000>"}, "COUNT from 1 to 2^20"},
           {{"%r<300>", "%r<-1>"}, "COUNT from 1 to 2^20"},
           {{"%r<300>", "%r<300"}, "COUNT from 1 to 2^20"},
           {{".reg .b32 %r<300>", ".reg .b32"}, ".reg .TYPE %NAME<COUNT>"},
           {{"smem[65536]", "smem[18446744073709551615]"}, "within 232448 bytes"},
           {{"smem[65536]", "smem[-1]"}, "within 232448 bytes"},
           {{"smem[65536]", "smem[232449]"}, "within 232448 bytes"},
           {{"smem[65536]", "smem[0]"}, "within 232448 bytes"},
           {{".align 1024", ".align 3"}, "N a power of two"},
           {{"sm_100a", "sm_100"}, ".target: found \"sm_100\", allowed: sm_100a, "},
           {{"0x08100010", "0x08100010|smem"}, "operand: found"},
           {{"0x08100010", "(0x08100010"}, "operand: found"},
           {{"0x08100010", "1/0"}, "operand: found"},
           {{"{\n.reg", "{\n{\n.reg"}, "braces: found 1 open at the end, allowed: 0"},
           {{"{\n.reg", "{\n}\n}\n.reg"}, "brace: found \"}\""},
           {{".visible .entry", ".visible .entry other()\n{\nret;\n}\n.visible .entry"},
            "one kernel in a file"}}) {
    std::string text = base();
    const std::size_t at = text.find(change.first);
    ASSERT_NE(at, std::string::npos) << change.first;
    text.replace(at, change.first.size(), change.second);
    const std::string reason = run_case(text);
    EXPECT_NE(reason.find(wanted), std::string::npos) << change.second << ": " << reason;
  }
  EXPECT_EQ(run_case(""), "found no instruction, allowed: the PTX of a kernel");
  for (const auto& [source, wanted] :
       std::vector<Change>{{"random", "something after random"}, {"zero zero", "nothing after zero"}})
    EXPECT_NE(run_case("//! shared words 0x0 f32 1x1 = " + source + "\nret;\n").find(wanted),
              std::string::npos)
        << source;
}

TEST(Ptx, ConstantsAndLineEndsAreThoseOfPtx) {
  const std::string head = "//! global 0 s32 1x1\n.reg .b32 %r<4>;\nmov.u32 %r1, ",
                    tail = ";\nst.global.b32 [0], %r1;\nret;\n";
  for (const auto& [constant, wanted] :
       std::vector<std::pair<std::string, std::int64_t>>{{"010", 8},
                                                         {"0", 0},
                                                         {"0b101", 5},
                                                         {"0x1FU", 31},
                                                         {"3+4", 7},
                                                         {"~1 & 0xFF", 254},
                                                         {"0x10|0x2000", 0x2010},
                                                         {"(1 << 4) | 2", 18},
                                                         {"7 - 2 - 1", 4},
                                                         {"2 + 3 * 4 % 5", 4},
                                                         {"0xF0 >> 4 ^ 1", 14},
                                                         {"-(3)", 0xFFFFFFFD}}) {
    PtxProgram program;
    std::string text = head;
    text.append(constant).append(tail);
    ASSERT_EQ(parse_ptx(text, program), "") << constant;
    Interpreter interpreter(program, test::blackwell());
    ASSERT_EQ(interpreter.run(), "") << constant;
    EXPECT_EQ(interpreter.output(0)[0], static_cast<std::uint64_t>(wanted)) << constant;
  }
  EXPECT_NE(run_case(head + std::string(200, '(') + "1" + std::string(200, ')') + tail), "");
  std::string text = base();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  EXPECT_EQ(run_case(text), "");
  text = base();
  EXPECT_EQ(run_case(text.replace(text.find("sm_100a"), 7, "sm_100f")), "");
}

TEST(Ptx, ShiftsTakeNumbersOf32Bits) {
  PtxProgram program;
  ASSERT_EQ(parse_ptx("//! global 0 s32 1x1\n.reg .b32 %r<4>;\n.reg .b16 %h<4>;\nmov.u16 %h1, 0x8000;\n"
                      "mov.u32 %r2, 0x10000;\nshr.u16 %h2, %h1, %r2;\nmov.u32 %r1, %h2;\n"
                      "st.global.b32 [0], %r1;\nret;\n",
                      program),
            "");
  Interpreter interpreter(program, test::blackwell());
  ASSERT_EQ(interpreter.run(), "");
  EXPECT_EQ(interpreter.output(0)[0], 0U);
}

TEST(Refusals, ABlockHasOneLabelOfAName) {
  EXPECT_EQ(run_case("x:\nx:\nret;\n"),
            "line 2: label: found \"x\", allowed: one label of a name in a block");
  // The second block leaves by its own label; by the first it would never end.
  const std::string block = "{\nin:\nbra out;\nbra in;\nout:\n}\n";
  EXPECT_EQ(run_case(block + block + "ret;\n"), "");
  // Not by a label of a block beside it; by a label of a block around it.
  EXPECT_NE(run_case("{\nx:\n}\nbra x;\nret;\n").find("label: found \"x\", allowed: one of the program"),
            std::string::npos);
  EXPECT_EQ(run_case("{\n{\nbra x;\n}\nx:\n}\nret;\n"), "");
  EXPECT_NE(run_case(std::string(65, '{') + "\nret;\n").find("64 blocks"), std::string::npos);
}

TEST(Refusals, ALongProgramWithoutALoopWaitsForNothing) {
  std::string text;
  for (int i = 0; i < 10'001; ++i) text += "mov.u32 %r1, 1;\n";
  EXPECT_EQ(run_case(text + "ret;\n"), "");
}

}  // namespace
}  // namespace mmaudit::tmem
