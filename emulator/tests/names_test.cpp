// Names as people type and paste them.
#include "mmaudit/names.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/model/ptx_text.hpp"

namespace mmaudit {
namespace {

std::string read(std::string_view text) {
  const auto found = read_instruction(text);
  return found ? name_of(*found) : "";
}

TEST(Names, WhatListingsPrintIsRead) {
  for (const Instruction& inst : kInstructions) {
    const Instruction shaped = with_shape(inst, 64);
    EXPECT_EQ(read(name_of(inst)), name_of(shaped));
    EXPECT_TRUE(means(name_of(inst), shaped)) << name_of(inst);
    EXPECT_TRUE(means(name_of(inst), with_shape(inst, 8))) << name_of(inst);
  }
  EXPECT_EQ(read("wgmma.m64nNk32.f32.e4m3.e4m3"), "wgmma.m64n64k32.f32.e4m3.e4m3");
  EXPECT_EQ(read("tcgen05.mMnNk16.kind_f16.f32.f16.f16"), "tcgen05.m128n64k16.kind_f16.f32.f16.f16");
  EXPECT_EQ(read("mma.m16n8k32.kind_f8f6f4.f32.A.B.f32"), "mma.m16n8k32.kind_f8f6f4.f32.e4m3.e4m3.f32");
}

TEST(Names, EveryMixIsMeantByOpenFormats) {
  constexpr std::string_view kOpen = "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.A.B.f32.ue8m0";
  int meant = 0;
  for (const Instruction& inst : kInstructions) meant += means(kOpen, inst) ? 1 : 0;
  EXPECT_EQ(meant, 25);
}

TEST(Names, AnyNMeansTheSameRow) {
  EXPECT_TRUE(means("wgmma.m64n256k16.f32.f16.f16", find_instruction("wgmma.m64n8k16.f32.f16.f16").value()));
  EXPECT_FALSE(means("wgmma.m64n256k16.f32.f16.f16", find_instruction("wgmma.m64n8k16.f16.f16.f16").value()));
  EXPECT_FALSE(means("f32.f16.f16", find_instruction("wgmma.m64n8k16.f32.f16.f16").value()));
}

TEST(Names, Ptx) {
  constexpr std::pair<std::string_view, std::string_view> kPasted[] = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4};",
       "mma.m16n8k16.f32.f16.f16.f32"},
      {"  \"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32\"", "mma.m16n8k32.f32.e4m3.e4m3.f32"},
      {"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32", "mma.m16n8k32.satfinite.s32.s8.u8.s32"},
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "mma.m16n8k256.s32.b1.b1.s32.xor.popc"},
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "mma.m8n8k4.f64.f64.f64.f64"},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
       "mma.sp.m16n8k32.f32.f16.f16.f32"},
      {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32",
       "mma.m16n8k32.kind_f8f6f4.f32.e3m2.e2m1.f32"},
      {"mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3",
       "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3"},
      {"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0",
       "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.f32.ue8m0"},
      {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "wgmma.m64n256k16.f32.bf16.bf16"},
      {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", "wgmma.sp.m64n8k32.f32.f16.f16"},
      {"wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc", "wgmma.m64n8k256.s32.b1.b1.and.popc"},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", "wmma.m16n16k16.f32.f16.f16.f16"},
      {"wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", "wmma.m16n16k8.f32.tf32.tf32.f32"},
      {"MMA.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32"}};
  for (const auto& [pasted, name] : kPasted) EXPECT_EQ(read(pasted), name) << pasted;
}

TEST(Names, PtxIsSpelledAsTheIsaHasIt) {
  for (const std::string_view text :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.satfinite.s32.s4.u4.s32",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16",
        "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc"}) {
    const auto found = read_instruction(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(ptx_text(*found).text, text);
  }
}

TEST(Names, SassAndCutlass) {
  constexpr std::pair<std::string_view, std::string_view> kPasted[] = {
      {"HMMA.16816.F32 R4, R8, R12, R4", "mma.m16n8k16.f32.f16.f16.f32"},
      {"HMMA.16816.F16", "mma.m16n8k16.f16.f16.f16.f16"},
      {"HMMA.16816.F32.BF16", "mma.m16n8k16.f32.bf16.bf16.f32"},
      {"HMMA.1688.F32.TF32", "mma.m16n8k8.f32.tf32.tf32.f32"},
      {"IMMA.16832.S8.U8.SAT", "mma.m16n8k32.satfinite.s32.s8.u8.s32"},
      {"QMMA.16832.F32.E4M3.E5M2", "mma.m16n8k32.f32.e4m3.e5m2.f32"},
      {"HMMA.SP.16832.F32", "mma.sp.m16n8k32.f32.f16.f16.f32"},
      {"HGMMA.64x128x16.F32.BF16", "wgmma.m64n128k16.f32.bf16.bf16"},
      {"QGMMA.64x64x32.F32.E4M3.E4M3", "wgmma.m64n64k32.f32.e4m3.e4m3"},
      {"SM80_16x8x16_F32F16F16F32_TN", "mma.m16n8k16.f32.f16.f16.f32"},
      {"SM80_16x8x8_F32TF32TF32F32_TN", "mma.m16n8k8.f32.tf32.tf32.f32"},
      {"cute::SM80_16x8x32_S32S8S8S32_TN_SATURATE", "mma.m16n8k32.satfinite.s32.s8.s8.s32"},
      {"SM80_16x8x256_S32U1U1S32_TN_XORPOPC", "mma.m16n8k256.s32.b1.b1.s32.xor.popc"},
      {"SM70_8x8x4_F32F16F16F32_NT", "mma.m8n8k4.f32.f16.f16.f32"},
      {"SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>", "wgmma.m64n64k16.f32.f16.f16"},
      {"SM90::GMMA::MMA_64x256x32_F32E4M3E4M3_SS_TN", "wgmma.m64n256k32.f32.e4m3.e4m3"}};
  for (const auto& [pasted, name] : kPasted) EXPECT_EQ(read(pasted), name) << pasted;
}

TEST(Names, AHintIsNeverSparseForDense) {
  EXPECT_EQ(nearest_instruction("mma.sync.aligned.m16n8k24.row.col.f32.f16.f16.f32").substr(0, 5), "mma.m");
  EXPECT_EQ(nearest_instruction("mma.m16n8k16.f32.f16.f16"), "mma.m16n8k16.f32.f16.f16.f32");
  EXPECT_EQ(nearest_instruction("tcgen05.mma.cta_group::1.kind::f16"),
            "tcgen05.mMnNk16.kind_f16.f32.f16.f16");
  EXPECT_EQ(nearest_instruction("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X."
                                "f32.e2m1.e2m1.f32.ue5m3"),
            "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3");
  for (const char* without_types : {"SM120::BLOCKSCALED::SM120_16x8x64_TN_VS", "UTCHMMA", "OMMA.SF.16864"})
    EXPECT_EQ(nearest_instruction(without_types), "") << without_types;
  EXPECT_EQ(nearest_instruction("xyz"), "");
  const std::vector<std::string> three = nearest_instructions("mma.m16n8k16.f32.f16.f16", 3);
  EXPECT_EQ(three.size(), 3U);
  EXPECT_EQ(three.front(), "mma.m16n8k16.f32.f16.f16.f32");
  EXPECT_TRUE(nearest_instructions("xyz", 3).empty());
  EXPECT_EQ(nearest_instruction(""), "");
  for (const char* text :
       {"", ".", "...", "mma", "m", "mnk", "16x8x16_", "_x_x_", "HMMA", "HMMA.", "wgmma.m64nNk"})
    EXPECT_FALSE(read_instruction(text)) << text;
}

TEST(Names, Architectures) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"sm90", "hopper"},
                                                                      {"SM_90", "hopper"},
                                                                      {"compute_90", "hopper"},
                                                                      {"9.0", "hopper"},
                                                                      {"H100-SXM", "hopper"},
                                                                      {"H100 PCIe", "hopper"},
                                                                      {"NVIDIA H100 80GB HBM3", "hopper"},
                                                                      {"RTX 4090", "ada"},
                                                                      {"NVIDIA GeForce RTX 4090", "ada"},
                                                                      {"Tesla V100-SXM2-16GB", "volta"},
                                                                      {"A100-SXM4-80GB", "ampere"},
                                                                      {"sm120", "blackwell_rtx"},
                                                                      {"blackwell-rtx", "blackwell_rtx"}};
  for (const auto& [typed, name] : kNames) {
    const Architecture* found = find_architecture(typed);
    ASSERT_NE(found, nullptr) << typed;
    EXPECT_EQ(found->name, name) << typed;
  }
  EXPECT_NE(why_no_architecture("hoper").find("did you mean hopper?"), std::string::npos);
  EXPECT_NE(why_no_architecture("H10").find("did you mean h100?"), std::string::npos);
  EXPECT_EQ(why_no_architecture("xyzxyz").find("did you mean"), std::string::npos);
}

TEST(Names, Formats) {
  for (const NamedFormat& row : kFormats) {
    EXPECT_EQ(read_format(row.name), row.spec.id);
    std::istringstream also{std::string(row.names.also)};
    for (std::string name; also >> name;) EXPECT_EQ(read_format(name), row.spec.id) << name;
  }
  EXPECT_EQ(read_format("F8_E4M3"), Format::e4m3);
  EXPECT_EQ(read_format("float32"), Format::f32);  // a tf32 is one too: the first counts
  EXPECT_EQ(read_format("FP16"), Format::f16);
  EXPECT_EQ(read_format("half"), Format::f16);
  EXPECT_EQ(read_format("torch.float8_e4m3fn"), Format::e4m3);
  EXPECT_EQ(read_format("torch.float8_e4m3fnuz"), Format::e4m3fnuz);
  EXPECT_EQ(read_format("float8_e5m2fnuz"), Format::e5m2fnuz);
  EXPECT_EQ(read_format("bfloat16"), Format::bf16);
  EXPECT_EQ(read_format("int8"), Format::s8);
  EXPECT_FALSE(read_format("fp8"));
  EXPECT_NE(why_no_format("fp8").find("e4m3 or e5m2"), std::string::npos);
  EXPECT_NE(why_no_format("nvfp4").find("ue4m3"), std::string::npos);
  EXPECT_NE(why_no_format("e4m4").find("did you mean e4m3?"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit
