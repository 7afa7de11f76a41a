#include "mmaudit/model/instruction.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "mmaudit/fragment.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {
namespace {

TEST(Instructions, EveryRowIsFoundByItsName) {
  std::set<std::string> names;
  for (const Instruction& inst : kInstructions) {
    if (inst.n == 0) {
      for (const int m : {32, 64, 128, 256}) {
        for (int n = kWgmmaMinN; n <= kWgmmaMaxN; n += kWgmmaStepN) {
          if (!has_shape(inst, m, n)) continue;
          Instruction shaped = inst;
          shaped.m = static_cast<std::int16_t>(m);
          shaped.n = static_cast<std::int16_t>(n);
          EXPECT_EQ(find_instruction(name_of(shaped)), shaped);
          EXPECT_TRUE(names.insert(name_of(shaped)).second);
          EXPECT_EQ(why_no_instruction(name_of(shaped)), "");
        }
      }
    } else {
      EXPECT_EQ(find_instruction(name_of(inst)), inst);
      EXPECT_TRUE(names.insert(name_of(inst)).second);
      EXPECT_EQ(why_no_instruction(name_of(inst)), "");
    }
  }
  EXPECT_EQ(names.size(), 31U + 54U + 35U + 12U * 32U + 9U * 18U + 48U + 12U * 32U + 8U * 18U + 50U + 28U +
                              2U * (54U * 32U + 8U * 18U) + 29U * 32U + 32U +
                              // tcgen05 with m = 32 and 256, then tcgen05.sp
                              62U * 3U + 54U * 16U + 8U * 8U + 29U * 16U + 2U * (54U * 32U + 8U * 18U) +
                              62U * 2U + 54U * 16U + 8U * 8U +
                              // mma.sp with a kind
                              78U);
}

TEST(Instructions, NamesArePtxText) {
  EXPECT_EQ(name_of(kInstructions[1]), "mma.m16n8k16.f32.f16.f16.f32");
  const auto wgmma = find_instruction("wgmma.m64n64k16.f32.bf16.bf16");
  ASSERT_TRUE(wgmma);
  EXPECT_EQ(wgmma->n, 64);
  EXPECT_EQ(wgmma->c, Format::f32);
  EXPECT_EQ(wgmma->unit, units::wgmma_f16);
  EXPECT_EQ(name_of(*wgmma), "wgmma.m64n64k16.f32.bf16.bf16");
}

TEST(Instructions, NamesOfIntegerInstructions) {
  for (const char* name :
       {"mma.m8n8k16.s32.u8.s8.s32", "mma.m16n8k32.s32.s8.u8.s32", "mma.m16n8k32.satfinite.s32.s8.s8.s32",
        "mma.m16n8k64.satfinite.s32.u4.s4.s32", "mma.m8n8k128.s32.b1.b1.s32.xor.popc",
        "mma.m16n8k256.s32.b1.b1.s32.and.popc", "wgmma.m64n64k32.s32.s8.s8",
        "wgmma.m64n48k32.satfinite.s32.u8.s8", "wgmma.m64n240k256.s32.b1.b1.and.popc"}) {
    const auto row = find_instruction(name);
    ASSERT_TRUE(row) << name;
    EXPECT_EQ(name_of(*row), name);
  }
  for (const char* name : {"mma.m16n8k32.s32.s8.s4.s32", "mma.m16n8k256.s32.b1.b1.s32",
                           "wgmma.m64n40k32.s32.s8.s8", "wgmma.m64n64k256.s32.b1.b1.xor.popc",
                           "mma.m16n8k256.satfinite.s32.b1.b1.s32.xor.popc", "wgmma.m64n64k64.s32.s4.s4"})
    EXPECT_FALSE(find_instruction(name)) << name;
  EXPECT_EQ(why_no_instruction("wgmma.m64n40k32.s32.s8.s8"),
            "n: found 40, allowed: 8 to 32 in steps of 8 and 48 to 256 in steps of 16");
}

TEST(Instructions, NamesOfTheNarrowKinds) {
  for (const char* name :
       {"mma.m16n8k32.kind_f8f6f4.f32.e3m2.e2m1.f32", "mma.m16n8k32.kind_f8f6f4.f16.e2m3.e5m2.f16",
        "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e2m3.f32.ue8m0",
        "mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0",
        "mma.m16n8k64.kind_mxf4nvf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0",
        "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3",
        "tcgen05.m128n64k16.kind_f16.f32.bf16.bf16", "tcgen05.m64n8k8.kind_tf32.f32.tf32.tf32",
        "tcgen05.m64n24k32.kind_i8.satfinite.s32.u8.s8", "tcgen05.m128n256k32.kind_f8f6f4.f16.e5m2.e2m1",
        "tcgen05.m128n40k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0",
        "tcgen05.m256n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3",
        "tcgen05.m32n256k16.kind_f16.f32.bf16.bf16", "tcgen05.sp.m128n8k32.kind_f16.f16.f16.f16",
        "tcgen05.sp.m64n40k16.kind_tf32.f32.tf32.tf32", "tcgen05.sp.m256n32k64.kind_i8.s32.u8.s8",
        "tcgen05.sp.m32n128k64.kind_f8f6f4.f16.e3m2.e2m1",
        "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"}) {
    const auto row = find_instruction(name);
    ASSERT_TRUE(row) << name;
    EXPECT_EQ(name_of(*row), name);
  }
  const Instruction nvf4 =
      find_instruction("tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3").value();
  EXPECT_EQ(nvf4.scale_block, 16);
  EXPECT_EQ(scales_of(nvf4), 4);
  EXPECT_EQ(nvf4.c, Format::f32);
  for (const char* name :
       {"mma.m16n8k64.kind_mxf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue8m0",
        "mma.m16n8k64.kind_mxf4nvf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue4m3",
        "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue8m0",
        "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.f32", "tcgen05.m128n64k16.f32.f16.f16",
        "tcgen05.m0128n64k16.kind_f16.f32.f16.f16", "tcgen05.m128n64k16.kind_f16.f16.bf16.bf16",
        "tcgen05.mMnNk16.kind_f16.f32.f16.f16", "tcgen05.m", "tcgen05.m128", "tcgen05.m128n",
        "tcgen05.sp.m128n64k16.kind_f16.f32.f16.f16", "tcgen05.sp", "tcgen05.sp.m", "tcgen05.sp.m128n",
        "tcgen05.sp.m128n64k64.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0",
        "tcgen05.sp.m128n64k128.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0"})
    EXPECT_FALSE(find_instruction(name)) << name;
  EXPECT_EQ(why_no_instruction("tcgen05.m512n64k16.kind_f16.f32.f16.f16"),
            "m: found 512, allowed: 32, 64, 128 and 256");
  EXPECT_EQ(why_no_instruction("tcgen05.m64n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0"),
            "m: found 64, allowed: 128 and 256");
  EXPECT_EQ(why_no_instruction("tcgen05.m32n8k16.kind_f16.f32.f16.f16"),
            "n: found 8 with m = 32, allowed: 64, 128 and 256");
  EXPECT_EQ(why_no_instruction("tcgen05.sp.m32n256k32.kind_f16.f32.f16.f16"),
            "n: found 256 with m = 32, allowed: 64 and 128");
  EXPECT_EQ(why_no_instruction("tcgen05.m256n24k16.kind_f16.f32.f16.f16"),
            "n: found 24 with m = 256, allowed: multiples of 16 up to 256");
  EXPECT_EQ(why_no_instruction("tcgen05.sp.m256n48k64.kind_i8.s32.s8.s8"),
            "n: found 48 with m = 256, allowed: multiples of 32 up to 256");
  EXPECT_EQ(why_no_instruction("tcgen05.m128n12k16.kind_f16.f32.f16.f16"),
            "n: found 12, allowed: 8 to 256 in steps of 8");
  EXPECT_EQ(why_no_instruction("tcgen05.m128n40k32.kind_i8.s32.s8.s8"),
            "n: found 40, allowed: 8 to 32 in steps of 8 and 48 to 256 in steps of 16");
}

// A hypothesis, and the list says so: a sparse form adds as the dense one of half its k.
TEST(Instructions, EverySparseTcgen05IsADenseOneOfTwiceTheDepth) {
  const Architecture& blackwell = *find_architecture("blackwell");
  std::size_t checked = 0;
  for (const Instruction& inst : kInstructions) {
    if (inst.op != Op::tcgen05_sp) continue;
    const DatapathEntry* const own = find_datapath(blackwell, inst);
    Instruction dense = inst;
    dense.op = Op::tcgen05;
    dense.k = static_cast<std::int16_t>(inst.stored_k());
    const auto* const listed = std::find_if(kInstructions.begin(), kInstructions.end(), [&](Instruction one) {
      one.unit = dense.unit;
      return one == dense;
    });
    ASSERT_NE(listed, kInstructions.end()) << name_of(inst);
    const DatapathEntry* const other = find_datapath(blackwell, *listed);
    ASSERT_TRUE(own != nullptr && other != nullptr) << name_of(inst);
    EXPECT_TRUE(own->datapath == other->datapath) << name_of(inst);
    EXPECT_EQ(own->evidence, Evidence::literature);
    EXPECT_EQ(inst.scale, Format::none);
    ++checked;
  }
  EXPECT_EQ(checked, 62U);
}

TEST(Instructions, NamesOfWmma) {
  for (const char* name :
       {"wmma.m16n16k16.f32.f16.f16.f32", "wmma.m32n8k16.f16.f16.f16.f32", "wmma.m8n32k16.f32.f16.f16.f16",
        "wmma.m16n16k16.f32.bf16.bf16.f32", "wmma.m16n16k8.f32.tf32.tf32.f32", "wmma.m8n8k4.f64.f64.f64.f64",
        "wmma.m8n32k16.satfinite.s32.u8.u8.s32", "wmma.m8n8k32.s32.s4.s4.s32",
        "wmma.m8n8k128.s32.b1.b1.s32.and.popc"}) {
    const auto row = find_instruction(name);
    ASSERT_TRUE(row) << name;
    EXPECT_EQ(name_of(*row), name);
    EXPECT_EQ(row->op, Op::wmma);
  }
  for (const char* name : {"wmma.m16n16k16.f32.f16.f16", "wmma.m16n16k16.s32.s8.u8.s32",
                           "wmma.m16n16k16.f16.bf16.bf16.f16", "wmma.m16n16k16.f32.tf32.tf32.f32"})
    EXPECT_FALSE(find_instruction(name)) << name;
}

TEST(Instructions, WrongNamesAreRefused) {
  for (const char* name :
       {"", "mma", "wgmma", "mma.m16n8k16", "mma.m16n8k16.f32.f16.f16", "mma.m16n8k16.f32.f16.f16.f32 ",
        "MMA.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.bf16.f32",
        "wgmma.m64nNk16.f32.f16.f16", "wgmma.m64n08k16.f32.f16.f16", "wgmma.m64n-8k16.f32.f16.f16",
        "wgmma.m64n+8k16.f32.f16.f16", "wgmma.m64n16k16.f32.f16.f16.f32",
        "wgmma.m64n99999999999k16.f32.f16.f16", "wgmma.m64n8", "wgmma.m64n",
        "wgmma.m64n16k8.f16.tf32.tf32"}) {
    EXPECT_EQ(find_instruction(name), std::nullopt) << name;
    EXPECT_NE(why_no_instruction(name), "") << name;
  }
}

TEST(Instructions, AnImpossibleNIsNamed) {
  for (const char* n : {"0", "4", "12", "264", "1000"}) {
    const std::string name = std::string("wgmma.m64n") + n + "k16.f32.f16.f16";
    EXPECT_EQ(find_instruction(name), std::nullopt) << name;
    if (n[0] == '0') continue;  // a leading zero is no number
    EXPECT_EQ(why_no_instruction(name), std::string("n: found ") + n + ", allowed: 8 to 256 in steps of 8");
  }
}

TEST(Instructions, TheNearestNameIsOffered) {
  EXPECT_NE(why_no_instruction("mma.m16n8k16.f32.f16.f16.f16").find("mma.m16n8k16.f32.f16.f16.f32"),
            std::string::npos);
  EXPECT_EQ(why_no_instruction("hmma").find("nearest"), std::string::npos);
}

TEST(Instructions, ShapesAreConsistent) {
  for (const Instruction& inst : kInstructions) {
    // C and D differ in m8n8k4 and wmma of binary16 only.
    EXPECT_TRUE(inst.c == inst.d || inst.unit == units::mma_884 || inst.unit == units::wmma_f16)
        << name_of(inst);
    EXPECT_TRUE(inst.op != Op::wmma || inst.a == inst.b) << name_of(inst);
    EXPECT_EQ(is_asynchronous(inst.op), inst.n == 0);
    EXPECT_EQ(is_tcgen05(inst.op), inst.m == 0);
    EXPECT_EQ(inst.scale == Format::none, inst.scale_block == 0);
    EXPECT_EQ(scales_of(inst) * inst.scale_block, inst.scale_block == 0 ? 0 : inst.k) << name_of(inst);
    if (inst.op == Op::wgmma) {
      // One wgmma reads 32 bytes of k from every row.
      EXPECT_EQ(inst.k * register_bits(inst.a), 256) << name_of(inst);
      EXPECT_EQ(inst.m, 64);
    }
  }
}

TEST(Architectures, AliasesAndCase) {
  const Architecture* hopper = find_architecture("hopper");
  ASSERT_NE(hopper, nullptr);
  for (const char* alias : {"Hopper", "sm_90", "SM_90a", "h100", "H200", "gh200", "H20", "h800"})
    EXPECT_EQ(find_architecture(alias), hopper) << alias;
  for (const char* unknown : {"", "h", "hopper!", "sm_9", "sm_900", "volt", "b2000"})
    EXPECT_EQ(find_architecture(unknown), nullptr) << unknown;
  EXPECT_EQ(hopper->compute_capability, 90);
}

TEST(Architectures, NoNameIsTakenTwice) {
  std::set<std::string> names;
  for (const Architecture& row : architectures()) {
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name;
    for (const std::string_view alias : row.aliases)
      EXPECT_TRUE(names.insert(std::string(alias)).second) << alias;
  }
}

TEST(Architectures, HopperRunsEveryInstructionButLaterOnes) {
  for (const Instruction& inst : kInstructions) {
    if (inst.min_compute_capability > 90) {
      EXPECT_EQ(find_datapath(*find_architecture("hopper"), inst), nullptr);
      continue;
    }
    const DatapathEntry* entry = find_datapath(*find_architecture("hopper"), inst);
    ASSERT_NE(entry, nullptr) << name_of(inst);
    EXPECT_EQ(entry->unit, inst.unit);
    EXPECT_EQ(entry->datapath.output.format, inst.d);
  }
}

TEST(Architectures, RowsAreSaneAndUnique) {
  for (const Architecture& architecture : architectures()) {
    std::set<std::tuple<std::string_view, Format, Format>> seen;
    for (const DatapathEntry& entry : architecture.datapaths) {
      SCOPED_TRACE(std::string(architecture.name) + ' ' + std::string(name_of(entry.unit)));
      EXPECT_TRUE(seen.insert({name_of(entry.unit), entry.output, entry.addend}).second);
      EXPECT_EQ(entry.datapath.output.format, entry.output);
      EXPECT_FALSE(entry.source.empty());
      EXPECT_GE(entry.datapath.products_per_step, 1);
      EXPECT_LE(entry.datapath.output.fraction_bits, spec_of(entry.output).fraction_bits);
      EXPECT_FALSE(entry.datapath.read_ignored_bits);
    }
  }
}

TEST(Architectures, EachBlackwellHasItsOwnNarrowInstructions) {
  const Architecture &data_centre = *find_architecture("b200"), &rtx = *find_architecture("rtx5090");
  for (const Instruction& inst : kInstructions) {
    if (inst.min_compute_capability <= 90 || inst.op == Op::mfma) continue;
    EXPECT_EQ(find_datapath(data_centre, inst) != nullptr, is_tcgen05(inst.op)) << name_of(inst);
    EXPECT_EQ(find_datapath(rtx, inst) != nullptr, inst.op == Op::mma || inst.op == Op::mma_sp)
        << name_of(inst);
  }
}

TEST(Architectures, AnOlderGpuLacksWhatItLacks) {
  const Architecture older{"older", {}, 89, find_architecture("hopper")->datapaths};
  const auto has = [&](const char* name) { return find_datapath(older, *find_instruction(name)) != nullptr; };
  EXPECT_TRUE(has("mma.m16n8k32.f32.e4m3.e4m3.f32"));
  EXPECT_FALSE(has("mma.m16n8k16.f64.f64.f64.f64"));
  EXPECT_FALSE(has("wgmma.m64n8k16.f32.f16.f16"));
}

TEST(Architectures, NamesOfTheEnumerators) {
  EXPECT_EQ(name_of(units::wgmma_fp8), "wgmma.fp8");
  EXPECT_EQ(name_of(units::mma_f64), "mma.f64");
  EXPECT_EQ(name_of(Evidence::recorded), "recorded");
  EXPECT_EQ(name_of(Evidence::literature), "literature");
}

}  // namespace
}  // namespace mmaudit
