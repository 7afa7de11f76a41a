// Special functions on this GPU: what the kernel for arrays gives, and the laws on all operands.
#include "special_functions.hpp"

#include <cstdio>

#include "gpu_fixture.hpp"

namespace mmaudit::device {
namespace {

class SpecialFunctions : public Gpu {};

TEST_F(SpecialFunctions, TheKernelGivesTheBitsOfTheModelForEveryOperand) {
  for (const functions::Function& one : functions::all()) {
    const KernelCheck found = check_kernel(one, false);
    EXPECT_EQ(found.differ, 0U) << one.name;
    EXPECT_EQ(found.operands, std::uint64_t{1} << one.bits) << one.name;
  }
}

TEST_F(SpecialFunctions, AnotherFunctionIsFound) {
  for (const char* name : {"expf", "tanh.approx.bf16", "divide"})
    EXPECT_GT(check_kernel(*functions::find(name), true).differ, 0U) << name;
}

void expect_same(const functions::Breaks& found, const functions::Breaks& known, std::string_view name) {
  EXPECT_EQ(found.count, known.count) << name;
  EXPECT_EQ(found.first, known.first) << name;
}
/// The exact value is CUDA's here, libm's there: the last digits of an error may differ.
void expect_near(const functions::Worst& found, const functions::Worst& known, std::string_view name) {
  EXPECT_NEAR(found.error, known.error, known.error * 1e-8) << name;
  EXPECT_EQ(found.x, known.x) << name;
}

TEST_F(SpecialFunctions, LawsOnAllOperandsAreWhatTheRowsSay) {
  int judged = 0;
  for (const functions::Function& one : functions::all()) {
    if (one.operands != 1) continue;
    const functions::Found* known = functions::found_on_all(one);
    ASSERT_NE(known, nullptr) << one.name;
    const functions::Found found = laws_on_gpu(one);
    expect_near(found.bound, known->bound, one.name);
    expect_near(found.elsewhere, known->elsewhere, one.name);
    expect_same(found.above, known->above, one.name);
    expect_same(found.symmetry, known->symmetry, one.name);
    expect_same(found.inside_binade, known->inside_binade, one.name);
    expect_same(found.past_binade, known->past_binade, one.name);
    ++judged;
  }
  EXPECT_EQ(judged, 44);
}

}  // namespace
}  // namespace mmaudit::device
