// Kernels that come as PTX text: what tcgen05 is recorded by, with a text that every GPU takes.
#include "run/text_kernel.hpp"

#include <numeric>

#include "gpu_fixture.hpp"
#include "mmaudit/tile_batch.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

/// Thread t of block b stores (b << 16 | t) + *from at to[128 * b + t].
constexpr const char* kText = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry place(.param .u64 from, .param .u64 to)
.reqntid 128
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 128, %r2;
  mul.wide.u32 %rd3, %r3, 4;
  add.u64 %rd2, %rd2, %rd3;
  shl.b32 %r4, %r1, 16;
  or.b32 %r4, %r4, %r2;
  ld.global.b32 %r5, [%rd1];
  add.u32 %r4, %r4, %r5;
  st.global.b32 [%rd2], %r4;
  ret;
}
)";

using TextKernels = Gpu;

TEST_F(TextKernels, ATextIsTranslatedAndRuns) {
  const TextKernel kernel(kText, "place");
  constexpr std::uint32_t kBlocks = 300, kSummand = 7;
  const Buffer from(4), to(std::size_t{4} * 128 * kBlocks);
  copy_in(from.data(), &kSummand, 4);
  const std::uint64_t parameters[] = {reinterpret_cast<std::uint64_t>(from.data()),
                                      reinterpret_cast<std::uint64_t>(to.data())};
  kernel.launch(kBlocks, 128, parameters);
  cuda_check(cudaDeviceSynchronize(), "running a kernel");
  std::vector<std::uint32_t> got(std::size_t{128} * kBlocks);
  copy_out(got.data(), to.data(), 4 * got.size());
  for (std::uint32_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], (i / 128 << 16 | i % 128) + kSummand) << i;
}

TEST_F(TextKernels, AWrongTextIsRefusedWithTheDriversWords) {
  std::string text = kText;
  text.replace(text.find("mad.lo"), 6, "mud.lo");
  const auto refusal = [](const std::string& given, const char* name) {
    try {
      const TextKernel kernel(given, name);
      return std::string();
    } catch (const EnvironmentError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(refusal(text, "place").find("mud"), std::string::npos) << refusal(text, "place");
  EXPECT_NE(refusal(kText, "elsewhere").find("elsewhere"), std::string::npos);
}

TEST_F(TextKernels, Tcgen05RunsOnTheGpusThatHaveIt) {
  const Instruction f16 = find_instruction("tcgen05.m128n16k16.kind_f16.f32.f16.f16").value();
  const bool has = info_.compute_capability == 100 || info_.compute_capability == 103;
  EXPECT_EQ(why_not(info_, f16).empty(), has) << why_not(info_, f16);
  TileBatch batch(f16, 1);
  if (!has) {
    EXPECT_NE(why_not(info_, f16).find("compute capability 10.0 and 10.3 only"), std::string::npos);
    EXPECT_THROW(run(info_, f16, batch.view()), EnvironmentError);
    return;
  }
  // Not run anywhere yet: that the kernel comes to its end and writes all of D.
  for (std::size_t i = 0; i < batch.c.size() / 4; ++i) store_bits(batch.c, 4, i, 0x3F800000U + i);
  run(info_, f16, batch.view());
  EXPECT_EQ(batch.d, batch.c);
}

}  // namespace
}  // namespace mmaudit::device
