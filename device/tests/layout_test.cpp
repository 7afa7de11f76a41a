// What device code takes for granted about layouts and modifiers, checked without a GPU.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/shared_layout.hpp"
#include "kernels/variants.hpp"
#include "mmaudit/device/check.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::device {
namespace {

void expect_every_byte_once(int cores) {
  for (const int bytes : {1, 2, 4})
    for (const bool mn_major : {false, true}) {
      if (mn_major && bytes != 2) continue;
      const int k = cores * kLineBytes / bytes;
      for (int mn = 8; mn <= 256; mn += 8) {
        std::vector<int> times(static_cast<std::size_t>(mn * k));
        for (int row = 0; row < mn; ++row)
          for (int column = 0; column < k; ++column) {
            const int offset = shared_offset(row, column, bytes, mn_major, cores);
            ASSERT_EQ(offset % bytes, 0);
            ASSERT_LT(offset, mn * k * bytes);
            ++times[static_cast<std::size_t>(offset / bytes)];
          }
        for (const int seen : times) ASSERT_EQ(seen, 1) << bytes << " bytes, " << mn << " x " << k;
      }
    }
}

TEST(SharedLayout, HoldsEveryByteOnce) {
  expect_every_byte_once(kDenseCores);
  expect_every_byte_once(4);  // B of a sparse wgmma
}

// The layouts of the PTX ISA's no-swizzle examples, as functions: K-major ((8,m),(T,2)):((T,SBO),(1,LBO)),
// MN-major
// ((T,1,m),(8,k)):((1,T,SBO),(T,LBO)), T elements of 16 bytes.
TEST(SharedLayout, MatchesTheIsa) {
  const int lbo = kNextAlongK, sbo = next_along_mn(kDenseCores);
  for (int mn = 0; mn < 64; ++mn)
    for (int k = 0; k < 16; ++k) {
      EXPECT_EQ(shared_offset(mn, k, 2, false), mn % 8 * 16 + mn / 8 * sbo + k % 8 * 2 + k / 8 * lbo);
      EXPECT_EQ(shared_offset(mn, k, 2, true), mn % 8 * 2 + mn / 8 * sbo + k % 8 * 16 + k / 8 * lbo);
    }
}

TEST(SharedLayout, DescriptorFields) {
  const std::uint64_t descriptor = shared_descriptor(0x2400, 128, 256);
  EXPECT_EQ(descriptor & 0x3FFF, 0x240U);
  EXPECT_EQ((descriptor >> 16) & 0x3FFF, 8U);
  EXPECT_EQ((descriptor >> 32) & 0x3FFF, 16U);
  EXPECT_EQ(descriptor >> 46, 0U);  // base offset 0, no swizzle
}

TEST(Variants, RefusesWhatNoKernelHas) {
  const Instruction f16 = find_instruction("wgmma.m64n64k16.f32.f16.f16").value();
  const Instruction odd = find_instruction("wgmma.m64n72k16.f32.f16.f16").value();
  const Instruction fp8 = find_instruction("wgmma.m64n64k32.f32.e4m3.e4m3").value();
  const Instruction mma = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  EXPECT_TRUE(has_modifiers(f16, kNegateA | kTransposeA | kTransposeB));
  EXPECT_FALSE(has_modifiers(f16, kTransposeA | kAFromRegisters));
  EXPECT_FALSE(has_modifiers(odd, kNegateA));
  EXPECT_TRUE(has_modifiers(odd, kScaleDZero | kAFromRegisters));
  EXPECT_FALSE(has_modifiers(fp8, kTransposeB));
  EXPECT_TRUE(has_modifiers(fp8, kNegateB));
  EXPECT_FALSE(has_modifiers(mma, kScaleDZero));
  const Instruction integers = find_instruction("wgmma.m64n64k32.satfinite.s32.u8.s8").value();
  EXPECT_TRUE(has_modifiers(integers, kScaleDZero | kAFromRegisters));
  EXPECT_FALSE(has_modifiers(integers, kNegateA));
  EXPECT_FALSE(has_modifiers(integers, kTransposeB));
}

TEST(Runner, RefusesWhatIsOnlyAssembled) {
  for (const Instruction& inst : kInstructions)
    EXPECT_TRUE(inst.kind == MmaKind::none || !why_not(DeviceInfo{}, with_shape(inst, 8)).empty())
        << name_of(inst);
}

TEST(Variants, OfSparseInstructions) {
  const Instruction f16 = find_instruction("wgmma.sp.m64n64k32.f32.f16.f16").value();
  const Instruction odd = find_instruction("wgmma.sp.m64n16k32.f32.f16.f16").value();
  const Instruction wide = find_instruction("wgmma.sp.m64n128k64.f16.e4m3.e5m2").value();
  const Instruction mma = find_instruction("mma.sp.m16n8k32.f32.f16.f16.f32").value();
  EXPECT_TRUE(has_modifiers(f16, kNegateA | kNegateB));
  EXPECT_TRUE(has_modifiers(f16, kTransposeA | kTransposeB));
  EXPECT_FALSE(has_modifiers(f16, kTransposeB | kNegateB));
  EXPECT_FALSE(has_modifiers(odd, 0));
  EXPECT_TRUE(has_modifiers(wide, kScaleDZero | kAFromRegisters));
  EXPECT_FALSE(has_modifiers(wide, kNegateA));
  EXPECT_TRUE(has_modifiers(mma, 0));
  EXPECT_FALSE(has_modifiers(mma, kScaleDZero));
}

TEST(Variants, LayoutsOfWmma) {
  const Instruction half = find_instruction("wmma.m32n8k16.f32.f16.f16.f16").value();
  const Instruction bits = find_instruction("wmma.m8n8k128.s32.b1.b1.s32.xor.popc").value();
  EXPECT_TRUE(has_modifiers(half, kTransposeA | kTransposeB | kTransposeC));
  EXPECT_FALSE(has_modifiers(half, kNegateA));
  EXPECT_FALSE(has_modifiers(half, kScaleDZero));
  EXPECT_TRUE(has_modifiers(bits, kTransposeC));
  EXPECT_FALSE(has_modifiers(bits, kTransposeB));
  EXPECT_FALSE(has_modifiers(find_instruction("wgmma.m64n64k16.f32.f16.f16").value(), kTransposeC));
}

// The counts of the PTX ISA's table "Matrix Fragments for WMMA", as it prints them.
TEST(WmmaLayout, RegisterCounts) {
  const auto counts = [](const char* name) {
    const Instruction inst = find_instruction(name).value();
    return std::vector<int>{wmma_registers(inst, WmmaOperand::a), wmma_registers(inst, WmmaOperand::b),
                            wmma_registers(inst, WmmaOperand::c), wmma_registers(inst, WmmaOperand::d)};
  };
  using Counts = std::vector<int>;
  EXPECT_EQ(counts("wmma.m32n8k16.f16.f16.f16.f32"), (Counts{8, 8, 8, 4}));
  EXPECT_EQ(counts("wmma.m16n16k16.f32.bf16.bf16.f32"), (Counts{4, 4, 8, 8}));
  EXPECT_EQ(counts("wmma.m8n32k16.f32.bf16.bf16.f32"), (Counts{2, 8, 8, 8}));
  EXPECT_EQ(counts("wmma.m16n16k8.f32.tf32.tf32.f32"), (Counts{4, 4, 8, 8}));
  EXPECT_EQ(counts("wmma.m32n8k16.s32.u8.u8.s32"), (Counts{4, 1, 8, 8}));
  EXPECT_EQ(counts("wmma.m8n8k32.s32.s4.s4.s32"), (Counts{1, 1, 2, 2}));
  EXPECT_EQ(counts("wmma.m8n8k128.s32.b1.b1.s32.and.popc"), (Counts{1, 1, 2, 2}));
  EXPECT_EQ(counts("wmma.m8n8k4.f64.f64.f64.f64"), (Counts{1, 1, 2, 2}));
}

TEST(WmmaLayout, EveryLineStartsWhereAFragmentMay) {
  for (const Instruction& inst : kInstructions) {
    if (inst.op != Op::wmma) continue;
    for (const WmmaOperand operand : {WmmaOperand::a, WmmaOperand::b, WmmaOperand::c, WmmaOperand::d})
      for (const bool column_major : {false, true}) {
        const WmmaMatrix matrix = wmma_matrix(inst, operand);
        EXPECT_EQ(matrix.pitch(column_major) % 32, 0) << name_of(inst);
        EXPECT_GE(matrix.pitch(column_major) * 8, (column_major ? matrix.rows : matrix.cols) * matrix.bits);
        EXPECT_LE(matrix.bytes(column_major), matrix.most_bytes());
      }
  }
}

TEST(Runner, SaysWhyItCannotRun) {
  if (!devices().empty()) GTEST_SKIP() << "there is a GPU";
  const Instruction mma = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  EXPECT_FALSE(why_not(DeviceInfo{}, mma).empty());
  EXPECT_THROW(run(DeviceInfo{}, mma, TileView{}), EnvironmentError);
  EXPECT_THROW(TileProductCheck(DeviceInfo{}, mma, Datapath{}), EnvironmentError);
}

}  // namespace
}  // namespace mmaudit::device
