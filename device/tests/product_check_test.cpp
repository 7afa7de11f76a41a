// The count of differences between kernels and plain core, both on the GPU: none, and some with another
// datapath.
#include "mmaudit/device/product_check.hpp"
#include "gpu_fixture.hpp"

namespace mmaudit::device {
namespace {

class ProductCheckOnDevice : public Gpu {};

struct Case {
  const char* architecture;
  const char* instruction;
};

constexpr Case kCases[] = {
    {"hopper", "mma.m16n8k16.f32.f16.f16.f32"},
    {"hopper", "wgmma.sp.m64n64k64.f32.e4m3.e4m3"},
    {"blackwell_rtx", "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.f32.ue8m0"},
    {"blackwell_rtx", "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3"},
};

std::uint64_t differing(const DeviceInfo& gpu, const Instruction& inst, const Datapath& kernels,
                        const Datapath& plain) {
  ProductCheck check(gpu, inst, 8, kernels, plain);
  std::uint64_t found = 0;
  for (unsigned i = 0; i < static_cast<unsigned>(gen::InputClass::count); ++i)
    for (std::uint64_t number = 0; number < 3; ++number)
      found += check.differing(static_cast<gen::InputClass>(i), 17, number);
  return found;
}

TEST_F(ProductCheckOnDevice, FindsNothingAndFindsAChangedRule) {
  for (const auto& [architecture, name] : kCases) {
    const std::optional<Instruction> inst = find_instruction(name);
    ASSERT_TRUE(inst) << name;
    const DatapathEntry* entry = find_datapath(*find_architecture(architecture), *inst);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(differing(info_, *inst, entry->datapath, entry->datapath), 0U) << name;
    Datapath other = entry->datapath;
    --other.fraction_bits;
    EXPECT_GT(differing(info_, *inst, entry->datapath, other), 0U) << name;
  }
}

}  // namespace
}  // namespace mmaudit::device
