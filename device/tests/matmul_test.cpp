// The fast kernels against matmul() on the host, bit by bit.
#include <cstring>
#include <set>
#include <string>

#include "gpu_fixture.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/generators/tiles.hpp"

namespace mmaudit::device {
namespace {

class ModelGemm : public Gpu {};

/// Every datapath of every architecture that the fast kernels serve, once per set of rules.
template <typename Check>
void for_each_served(const Check& check) {
  std::set<std::string> seen;
  for (const Architecture& architecture : architectures()) {
    for (Instruction instruction : kInstructions) {
      if (is_wgmma(instruction.op)) instruction.n = 8;
      const DatapathEntry* entry = find_datapath(architecture, instruction);
      const Matmul nothing;
      if (entry != nullptr && instruction.scale == Format::none &&
          why_no_matmul(instruction, entry->datapath, nothing).empty() &&
          why_no_matmul_on_device(instruction, entry->datapath, nothing).empty() &&
          seen.insert(product_key(instruction, entry->datapath)).second)
        check(architecture, instruction, entry->datapath);
    }
  }
}

MatmulOptions every_core() {
  MatmulOptions options;
  options.threads = 0;
  return options;
}

/// Elements of an input class, one tile after another in a matrix of any shape.
std::vector<std::byte> matrix(const gen::GeneratorSpec& generator, gen::InputClass input_class,
                              gen::Matrix which, const FormatSpec& format, std::size_t count) {
  std::vector<std::byte> bytes(count * format.storage_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = gen::generate(generator, input_class, 11, which, i / 64,
                                             static_cast<int>(i % 64) / 8, static_cast<int>(i % 8));
    std::memcpy(bytes.data() + i * format.storage_bytes(), &bits, format.storage_bytes());
  }
  return bytes;
}

TEST_F(ModelGemm, GivesTheBitsOfTheHostWhateverTheOperands) {
  std::size_t ran = 0;
  for_each_served([&](const Architecture& architecture, const Instruction& instruction,
                      const Datapath& datapath) {
    const gen::GeneratorSpec generator = gen::make_generator_spec(instruction, datapath);
    Matmul problem;
    problem.batch = 2;
    problem.m = 131;
    problem.n = problem.k = 67;
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<gen::InputClass>(f);
      const auto a =
          matrix(generator, input_class, gen::Matrix::a, generator.a, problem.batch * problem.m * problem.k);
      const auto b =
          matrix(generator, input_class, gen::Matrix::b, generator.b, problem.batch * problem.k * problem.n);
      const auto c =
          matrix(generator, input_class, gen::Matrix::c, generator.c, problem.batch * problem.m * problem.n);
      std::vector<std::byte> host(c.size()), device(c.size());
      problem.a = a.data();
      problem.b = b.data();
      problem.c = f % 2 == 0 ? c.data() : nullptr;
      problem.promote =
          instruction.d == Format::f32 && f % 3 == 1 ? 2 * static_cast<std::uint64_t>(instruction.k) : 0;
      problem.split_k = instruction.d == Format::f32 && f % 5 == 1 ? 3 : 1;
      problem.d = host.data();
      matmul(instruction, datapath, problem, every_core());
      problem.d = device.data();
      matmul_on_device(info_, instruction, datapath, problem);
      ASSERT_TRUE(host == device) << architecture.name << " " << name_of(instruction) << " input class " << f;
      ++ran;
    }
  });
  EXPECT_GT(ran, 100U);
}

/// The largest number below 2 of a format, or its negative.
std::uint64_t below_two(const FormatSpec& format, bool negative) {
  const std::uint64_t magnitude = (static_cast<std::uint64_t>(format.bias + 1) << format.fraction_bits) - 1;
  return magnitude << format.ignored_low_bits | (negative ? format.sign_bit() : 0);
}

// 16 such products and C have more than 2^31 units of the last place kept, so sums leave 32 bits, and where
// signs change come back.
TEST_F(ModelGemm, SumsThatLeave32BitsAreTheHosts) {
  constexpr std::uint64_t kSide = 64;
  std::size_t ran = 0;
  for_each_served(
      [&](const Architecture& architecture, const Instruction& instruction, const Datapath& datapath) {
        const DotSpec spec = make_dot_spec(instruction, datapath);
        Matmul problem;
        problem.m = problem.n = kSide;
        problem.k = static_cast<std::uint64_t>(instruction.k);
        const auto filled = [](const FormatSpec& format, std::uint64_t rows, std::uint64_t columns,
                               auto&& negative) {
          std::vector<std::byte> bytes(rows * columns * format.storage_bytes());
          for (std::uint64_t i = 0; i < rows * columns; ++i) {
            const std::uint64_t bits = below_two(format, negative(i / columns, i % columns));
            std::memcpy(bytes.data() + i * format.storage_bytes(), &bits, format.storage_bytes());
          }
          return bytes;
        };
        // Rows up to 32 change sign at most once, those after them as the bits of a hash say.
        const auto a = filled(spec.a, kSide, problem.k, [](std::uint64_t i, std::uint64_t k) {
          return i <= 32 ? k >= i : ((i * 0x9E3779B97F4A7C15U) >> (k % 64) & 1) != 0;
        });
        const auto b =
            filled(spec.b, problem.k, kSide, [](std::uint64_t, std::uint64_t j) { return j % 2 != 0; });
        const auto c = filled(spec.step.addend, kSide, kSide,
                              [](std::uint64_t i, std::uint64_t j) { return (i + j / 2) % 2 != 0; });
        std::vector<std::byte> host(c.size()), device(c.size());
        problem.a = a.data();
        problem.b = b.data();
        problem.c = c.data();
        problem.d = host.data();
        matmul(instruction, datapath, problem, every_core());
        problem.d = device.data();
        matmul_on_device(info_, instruction, datapath, problem);
        ASSERT_TRUE(host == device) << architecture.name << " " << name_of(instruction);
        ++ran;
      });
  EXPECT_GT(ran, 10U);
}

// 2^-126 - 1.5 * 2^-126 is flushed to -0; the next instruction reads it as +0, and its products are -0.
TEST_F(ModelGemm, AZeroThatATreeFlushedIsPlusForTheNextInstruction) {
  const Instruction instruction = find_instruction("v_mfma_f32_32x32x4bf16").value();
  const Datapath& datapath = find_datapath(*find_architecture("cdna2"), instruction)->datapath;
  const std::uint16_t a[] = {0x3F80, 0x3F80, 0x3F80, 0xA000, 0, 0, 0, 0},
                      b[] = {0x8000, 0x8000, 0x8000, 0x2040, 0xBF80, 0xBF80, 0xBF80, 0xBF80};
  const std::uint32_t c = 0x00800000;
  std::uint32_t d = 0;
  Matmul problem;
  problem.m = problem.n = 1;
  problem.a = a;
  problem.b = b;
  problem.c = &c;
  problem.d = &d;
  for (const std::uint64_t k : {4, 8}) {
    problem.k = k;
    matmul_on_device(info_, instruction, datapath, problem);
    EXPECT_EQ(d, k == 4 ? 0x80000000U : 0U);
  }
}

}  // namespace
}  // namespace mmaudit::device
