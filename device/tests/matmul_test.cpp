// The fast kernels against matmul() on the host, bit by bit.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>

#include "gpu_fixture.hpp"
#include "mmaudit/architecture.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::device {
namespace {

class ModelGemm : public Gpu {};

/// Every row of every architecture that the fast kernels serve, once a set of rules.
template <typename Check>
void for_each_served(const Check& check) {
  for (const Architecture& architecture : architectures()) {
    for (Instruction instruction : kInstructions) {
      if (is_wgmma(instruction.op)) instruction.n = 8;
      const DatapathRow* row = find_datapath(architecture, instruction);
      const Matmul nothing;
      if (row != nullptr && why_no_matmul(instruction, row->model, nothing).empty() &&
          why_no_matmul_on_device(instruction, row->model, nothing).empty())
        check(architecture, instruction, row->model);
    }
  }
}

/// Elements of a generator's family, one tile after another in a matrix of any shape.
std::vector<std::byte> matrix(const gen::GeneratorPlan& plan, gen::Family family, gen::Matrix which,
                              const FormatSpec& format, std::size_t count) {
  std::vector<std::byte> bytes(count * format.storage_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits =
        gen::generate(plan, family, 11, which, i / 64, static_cast<int>(i % 64) / 8, static_cast<int>(i % 8));
    std::memcpy(bytes.data() + i * format.storage_bytes(), &bits, format.storage_bytes());
  }
  return bytes;
}

TEST_F(ModelGemm, GivesTheBitsOfTheHostWhateverTheOperands) {
  std::size_t ran = 0;
  for_each_served(
      [&](const Architecture& architecture, const Instruction& instruction, const AccumulatorModel& row) {
        const gen::GeneratorPlan plan = gen::make_generator_plan(instruction, row);
        Matmul problem;
        problem.batch = 2;
        problem.m = 131;
        problem.n = problem.k = 67;
        for (int f = 0; f < gen::kFamilies; ++f) {
          const auto family = static_cast<gen::Family>(f);
          const auto a = matrix(plan, family, gen::Matrix::a, plan.a, problem.batch * problem.m * problem.k);
          const auto b = matrix(plan, family, gen::Matrix::b, plan.b, problem.batch * problem.k * problem.n);
          const auto c = matrix(plan, family, gen::Matrix::c, plan.c, problem.batch * problem.m * problem.n);
          std::vector<std::byte> host(c.size()), device(c.size());
          problem.a = a.data();
          problem.b = b.data();
          problem.c = f % 2 == 0 ? c.data() : nullptr;
          problem.promote =
              instruction.d == Format::f32 && f % 3 == 1 ? 2 * static_cast<std::uint64_t>(instruction.k) : 0;
          problem.split_k = instruction.d == Format::f32 && f % 5 == 1 ? 3 : 1;
          problem.d = host.data();
          matmul(instruction, row, problem);
          problem.d = device.data();
          matmul_on_device(info_, instruction, row, problem);
          ASSERT_TRUE(host == device) << architecture.name << " " << name_of(instruction) << " family " << f;
          ++ran;
        }
      });
  EXPECT_GT(ran, 100U);
}

}  // namespace
}  // namespace mmaudit::device

namespace mmaudit::device {
namespace {
TEST_F(ModelGemm, DISABLED_Speed) {
  for (const char* name :
       {"wgmma.m64n8k16.f32.f16.f16", "wgmma.m64n8k16.f32.bf16.bf16", "wgmma.m64n8k8.f32.tf32.tf32",
        "wgmma.m64n8k32.f32.e4m3.e4m3", "wgmma.m64n8k16.f16.f16.f16"}) {
    const Architecture& hopper = *find_architecture("hopper");
    const Instruction instruction = *find_instruction(name);
    const AccumulatorModel& row = find_datapath(hopper, instruction)->model;
    const gen::GeneratorPlan plan = gen::make_generator_plan(instruction, row);
    Matmul problem;
    problem.m = problem.n = problem.k = 4096;
    for (int f : {0, 1, 2}) {
      const auto a = matrix(plan, static_cast<gen::Family>(f), gen::Matrix::a, plan.a, problem.m * problem.k);
      const auto b = matrix(plan, static_cast<gen::Family>(f), gen::Matrix::b, plan.b, problem.k * problem.n);
      std::vector<std::byte> d(problem.m * problem.n * 4);
      problem.a = a.data();
      problem.b = b.data();
      problem.d = d.data();
      for (int i = 0; i < 3; ++i) {
        const double seconds = matmul_on_device(info_, instruction, row, problem);
        std::printf("%s family %d: %.3f ms, %.3f T multiply-adds/s\n", name, f, seconds * 1e3,
                    4096.0 * 4096 * 4096 / seconds * 1e-12);
      }
    }
  }
}
}  // namespace
}  // namespace mmaudit::device
