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

/// Block b stores its rank in its cluster at to[2 * b], and what the other block left for it at to[2 * b +
/// 1].
constexpr const char* kPairText = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry pair(.param .u64 to)
.reqntid 32
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  .reg .b32 %r<10>;
  .reg .b64 %rd<4>;
  .reg .pred %p<2>;
  .shared .align 4 .b8 word[4];
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r3, %ctaid.x;
  add.u32 %r4, %r3, 100;
  mov.u32 %r5, word;
  @%p1 st.shared.b32 [%r5], %r4;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  xor.b32 %r6, %r2, 1;
  mapa.shared::cluster.u32 %r7, %r5, %r6;
  ld.shared::cluster.b32 %r8, [%r7];
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mul.wide.u32 %rd2, %r3, 8;
  add.u64 %rd1, %rd1, %rd2;
  @%p1 st.global.v2.b32 [%rd1], {%r2, %r8};
  ret;
}
)";

TEST_F(TextKernels, AClusterThatTheTextAsksForIsLaunched) {
  if (info_.compute_capability < 90) GTEST_SKIP() << "clusters need compute capability 9.0";
  const TextKernel kernel(kPairText, "pair");
  constexpr std::uint32_t kBlocks = 600;
  std::vector<std::uint32_t> got(std::size_t{2} * kBlocks);
  const Buffer to(4 * got.size());
  poison(to.data(), 4 * got.size());
  const std::uint64_t parameters[] = {reinterpret_cast<std::uint64_t>(to.data())};
  kernel.launch(kBlocks, 32, parameters);
  cuda_check(cudaDeviceSynchronize(), "running a kernel");
  copy_out(got.data(), to.data(), 4 * got.size());
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    ASSERT_EQ(got[std::size_t{2} * block], block % 2) << block;
    ASSERT_EQ(got[std::size_t{2} * block + 1], (block ^ 1U) + 100) << block;
  }
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
  const Instruction f16 = find_instruction("tcgen05.m128n64k16.kind_f16.f32.f16.f16").value();
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
  for (const std::string_view form : {"plain", "ws", "pair", "tmem"}) {
    RunOptions how;
    how.form = form;
    EXPECT_EQ(why_not(info_, f16, 0, form), "");
    run(info_, f16, batch.view(), how);
    EXPECT_EQ(batch.d, batch.c) << form;
  }
}

}  // namespace
}  // namespace mmaudit::device
