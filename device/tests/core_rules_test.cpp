// Which datapaths the fast kernels take. Needs no GPU.
#include <gtest/gtest.h>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/model/instruction.hpp"
#include "model/core_rules.hpp"
#include "model/groups.hpp"
#include "model/trees.hpp"

namespace mmaudit::device {
namespace {

struct Case {
  Instruction instruction = *find_instruction("wgmma.m64n64k32.f32.e4m3.e4m3");
  Datapath model = find_datapath(*find_architecture("hopper"), instruction)->datapath;
  [[nodiscard]] std::optional<CoreRules> rules() const {
    return core_rules(make_dot_spec(instruction, model));
  }
};

TEST(CoreRules, TakeHoppersRows) {
  for (const char* name :
       {"wgmma.m64n64k32.f32.e4m3.e4m3", "wgmma.m64n64k16.f32.bf16.bf16", "wgmma.m64n64k8.f32.tf32.tf32",
        "wgmma.m64n64k16.f16.f16.f16", "mma.m16n8k16.f32.f16.f16.f32", "mma.sp.m16n8k32.f32.f16.f16.f32"}) {
    Case one;
    one.instruction = *find_instruction(name);
    one.model = find_datapath(*find_architecture("hopper"), one.instruction)->datapath;
    EXPECT_TRUE(one.rules()) << name;
  }
}

std::optional<DotSpec> plan_on(const char* architecture, const char* name) {
  const std::optional<Instruction> instruction = find_instruction(name);
  if (!instruction) return std::nullopt;
  return make_dot_spec(*instruction, find_datapath(*find_architecture(architecture), *instruction)->datapath);
}

TEST(CoreRules, TakeScaledAndSparseOperands) {
  for (const char* name :
       {"mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.f32.ue8m0",
        "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e2m3.e3m2.f32.ue8m0",
        "mma.m16n8k32.kind_f8f6f4.f32.e4m3.e4m3.f32", "mma.sp.m16n8k64.f32.e4m3.e4m3.f32"}) {
    const auto spec = plan_on("blackwell_rtx", name);
    ASSERT_TRUE(spec) << name;
    EXPECT_TRUE(core_rules(*spec)) << name;
  }
  DotSpec scaled =
      *plan_on("blackwell_rtx", "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.f32.ue8m0");
  scaled.datapath.scale_nan = ScaleNan::beside_nonzero;
  EXPECT_FALSE(core_rules(scaled));
}

TEST(CoreRules, TakeSumsOfTwoStages) {
  for (const char* name : {"v_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x8bf16_1k", "v_mfma_f32_16x16x8_xf32"}) {
    const auto rules = core_rules(*plan_on("cdna3", name));
    ASSERT_TRUE(rules) << name;
    EXPECT_TRUE(rules->two_stages && rules->sums == 1 && !rules->drops_far) << name;
    for (int i = 0; i < rules->depth; ++i) EXPECT_EQ(rules->order[i], i) << name;
  }
  DotSpec spec = *plan_on("cdna3", "v_mfma_f32_16x16x32_fp8_bf8");
  const auto rules = core_rules(spec);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->two_stages && rules->sums == 2 && rules->drops_far && rules->a.nan_at_minus_zero);
  // Even k of a step, then its odd k.
  EXPECT_EQ(rules->order[0], 0);
  EXPECT_EQ(rules->order[7], 14);
  EXPECT_EQ(rules->order[8], 1);
  EXPECT_EQ(rules->order[17], 18);
  EXPECT_EQ(rules->order[31], 31);
  spec.datapath.partial_sums = 1;  // 16 products in one sum
  EXPECT_FALSE(core_rules(spec));
}

TEST(TreeRules, TakeCdna2) {
  for (const char* name : {"v_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x4bf16", "v_mfma_f32_32x32x8bf16_1k"}) {
    DotSpec spec = *plan_on("cdna2", name);
    EXPECT_TRUE(tree_rules(spec)) << name;
    spec.datapath.output.flush_subnormals = false;
    EXPECT_FALSE(tree_rules(spec)) << name;
  }
  EXPECT_FALSE(tree_rules(*plan_on("cdna3", "v_mfma_f32_32x32x8f16")));
}

TEST(GroupCore, TakesTheKindsOfFourBits) {
  const struct {
    const char* name;
    int scales;
  } cases[] = {{"mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0", 2},
               {"mma.m16n8k64.kind_mxf4nvf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0", 2},
               {"mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3", 4}};
  for (const auto& one : cases) {
    const auto spec = plan_on("blackwell_rtx", one.name);
    ASSERT_TRUE(spec && group_core(*spec)) << one.name;
    EXPECT_EQ(group_core(*spec)->scales, one.scales);
    EXPECT_EQ(group_core(*spec)->spread, 16);
    const auto refused = [&](auto change) {
      DotSpec other = *spec;
      change(other.datapath);
      return !group_core(other);
    };
    EXPECT_TRUE(refused([](Datapath& x) { x.fraction_bits = 39; }));
    EXPECT_TRUE(refused([](Datapath& x) { x.group = 8; }));
    EXPECT_TRUE(refused([](Datapath& x) { x.products_per_step = 32; }));
    EXPECT_TRUE(refused([](Datapath& x) { x.min_alignment_exponent = -100; }));
    EXPECT_TRUE(refused([](Datapath& x) { x.cancelled_group = CancelledGroup::no_part; }));
  }
}

TEST(CoreRules, TakeNoFloorThatHasNoUnit) {
  constexpr std::int16_t kServed[] = {-200, -133, 0, 127}, kRefused[] = {-201, 128, 971, 1100, 30000};
  Case one;
  for (const std::int16_t floor : kServed) {
    one.model.min_alignment_exponent = floor;
    ASSERT_TRUE(one.rules()) << floor;
    EXPECT_EQ(one.rules()->floor, floor);
  }
  for (const std::int16_t floor : kRefused) {
    one.model.min_alignment_exponent = floor;
    EXPECT_FALSE(one.rules()) << floor;
  }
}

TEST(CoreRules, TakeNoRuleThatTheKernelsLack) {
  const auto refused = [](auto change) {
    Case one;
    change(one.model);
    return !one.rules();
  };
  EXPECT_FALSE(refused([](Datapath&) {}));
  EXPECT_TRUE(refused([](Datapath& x) { x.alignment = Alignment::nearest_even; }));
  EXPECT_TRUE(refused([](Datapath& x) { x.output.rounding = Rounding::nearest_even; }));
  EXPECT_TRUE(refused([](Datapath& x) { x.output.fraction_bits = 24; }));
  EXPECT_TRUE(refused([](Datapath& x) { x.output.flush_subnormals = true; }));
  EXPECT_TRUE(refused([](Datapath& x) { x.addend = AddendPlace::after_last_truncated; }));
  EXPECT_TRUE(refused([](Datapath& x) { x.fraction_bits = 0; }));
  EXPECT_TRUE(refused([](Datapath& x) { x.fraction_bits = 27; }));
  EXPECT_TRUE(refused([](Datapath& x) { x.products_per_step = 3; }));
}

TEST(CoreRules, SayWhenASumNeedsALongerEnd) {
  struct {
    const char* name;
    bool may_carry;
    int least_tame, most_tame;
    // Sums of n products and C stay below (4 n + 2) 2^E: 66, 34 and 130 for 16, 8 and 32 products.
  } const cases[] = {{"wgmma.m64n64k16.f32.f16.f16", true, -124, 122},
                     {"wgmma.m64n64k16.f32.bf16.bf16", true, -124, 122},
                     {"wgmma.m64n64k8.f32.tf32.tf32", false, -124, 123},
                     {"wgmma.m64n64k32.f32.e4m3.e4m3", false, -126, 121},
                     {"wgmma.m64n64k16.f16.f16.f16", true, -14, 10}};
  for (const auto& expected : cases) {
    Case one;
    one.instruction = *find_instruction(expected.name);
    one.model = find_datapath(*find_architecture("hopper"), one.instruction)->datapath;
    const std::optional<CoreRules> rules = one.rules();
    ASSERT_TRUE(rules) << expected.name;
    EXPECT_EQ(rules->may_carry, expected.may_carry) << expected.name;
    EXPECT_EQ(rules->least_tame, expected.least_tame) << expected.name;
    EXPECT_EQ(rules->most_tame, expected.most_tame) << expected.name;
  }
}

}  // namespace
}  // namespace mmaudit::device
