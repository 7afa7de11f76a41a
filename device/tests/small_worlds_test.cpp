// Toys of a few bits on every input: the fast kernels, the plain core on the GPU and the host's vector code,
// for every value of every rule that the kernels serve. The oracle's part:
// properties/tests/small_worlds_test.cpp.
#include <cstdio>
#include <set>

#include "gpu_fixture.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/fast.hpp"
#include "mmaudit/mutants/mutants.hpp"
#include "small_worlds.hpp"

namespace mmaudit::device {
namespace {

class SmallWorldsOnDevice : public Gpu {};

TEST_F(SmallWorldsOnDevice, GiveTheBitsOfThePlainCoreAndOfVectorCode) {
  std::uint64_t inputs = 0, by_host = 0;
  std::set<std::string> worlds;
  for (const gen::SmallWorld& world : gen::small_worlds(true)) {
    gen::SmallProduct product(world);
    const auto run = [&](const auto& compute) {
      std::fill(product.d.begin(), product.d.end(), std::byte{0xA5});
      compute(product.problem);
      return product.d;
    };
    std::vector<Mutant> mutants = mutants_of(world.instruction, world.datapath);
    mutants.insert(mutants.begin(), {"itself", "", world.datapath, ""});
    for (const Mutant& one : mutants) {
      if (!why_no_matmul_on_device(world.instruction, one.datapath, product.problem).empty()) continue;
      const bool on_host = fast_serves(world.instruction, one.datapath);
      worlds.insert(world.name);
      SCOPED_TRACE(world.name + ", " + one.rule + ": " + one.change);
      const auto plain = run([&](const Matmul& problem) {
        matmul_on_device(info_, world.instruction, one.datapath, problem, DeviceModel::plain);
      });
      const auto fast = run(
          [&](const Matmul& problem) { matmul_on_device(info_, world.instruction, one.datapath, problem); });
      ASSERT_TRUE(fast == plain);
      inputs += product.problem.m * product.problem.n;
      if (!on_host) continue;
      const auto vectors = run([&](const Matmul& problem) {
        MatmulOptions options;
        options.threads = 0;
        matmul(world.instruction, one.datapath, problem, options);
      });
      ASSERT_TRUE(vectors == plain) << "on the host";
      by_host += product.problem.m * product.problem.n;
    }
  }
  std::printf("%llu inputs of %zu worlds, %llu of them also by the host's vector code\n",
              static_cast<unsigned long long>(inputs), worlds.size(),
              static_cast<unsigned long long>(by_host));
  EXPECT_GE(inputs, 1'000'000'000U);
  EXPECT_GE(worlds.size(), 10U);
}

}  // namespace
}  // namespace mmaudit::device
