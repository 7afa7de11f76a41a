// Products by the GPU's own instructions against the host's plain core, bit by bit.
#include <cstdio>
#include <string>
#include <vector>

#include "gpu_fixture.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/raw_words.hpp"
#include "model/product.hpp"
#include "run/cuda_check.hpp"
#include "run/hardware_gemm.hpp"

namespace mmaudit::device {
namespace {

constexpr std::uint64_t kSeed = 29;

struct Served {
  Instruction instruction;
  Datapath datapath;
};

/// Every dense wgmma with binary32 sums of the GPU's architecture.
std::vector<Served> served(int capability) {
  std::vector<Served> found;
  const Architecture* here = find_architecture(capability);
  for (Instruction instruction : kInstructions) {
    if (instruction.op != Op::wgmma || instruction.d != Format::f32) continue;
    instruction.n = kWgmmaMinN;
    const DatapathEntry* entry = here != nullptr ? find_datapath(*here, instruction) : nullptr;
    if (entry != nullptr) found.push_back({instruction, entry->datapath});
  }
  return found;
}

class HardwareProducts : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    if (info_.compute_capability != 90) GTEST_SKIP() << "wgmma is of compute capability 9.0";
  }
};

/// How the sums end: k of a chain in instructions, factors of blocks of that many chains or of rows, C, an
/// epilogue.
struct Ending {
  const char* name;
  std::uint64_t promote = 0, chains_of_a_block = 0;
  bool c = false, factors = false, epilogue = false;
  Format output = Format::f32;
  FactorOrder order = FactorOrder::product;
};
constexpr Ending kEndings[] = {
    {.name = "plain"},
    {.name = "plain, C", .c = true},
    {.name = "promoted", .promote = 4},
    {.name = "promoted, C", .promote = 8, .c = true},
    {.name = "epilogue, C", .c = true, .epilogue = true, .output = Format::bf16},
    {.name = "rows",
     .factors = true,
     .epilogue = true,
     .output = Format::bf16,
     .order = FactorOrder::b_first},
    {.name = "blocks",
     .promote = 4,
     .chains_of_a_block = 1,
     .factors = true,
     .epilogue = true,
     .output = Format::bf16},
    {.name = "two chains a block", .promote = 4, .chains_of_a_block = 2, .factors = true, .epilogue = true},
};

/// Operands of an input class in host memory, a tile of the class per instruction of the chain.
struct Operands {
  std::vector<std::byte> a, b, c;
  std::vector<float> factors_a, factors_b;

  Operands(const Served& one, gen::InputClass input_class, const Matmul& x, std::uint64_t blocks) {
    const gen::GeneratorSpec generator = gen::make_generator_spec(one.instruction, one.datapath);
    const auto depth = static_cast<std::uint64_t>(one.instruction.k);
    const auto fill = [&](std::vector<std::byte>& to, gen::Matrix which, std::size_t bytes,
                          std::uint64_t rows, std::uint64_t columns) {
      to.resize(x.batch * rows * columns * bytes);
      for (std::uint64_t i = 0; i < x.batch * rows; ++i)
        for (std::uint64_t j = 0; j < columns; ++j) {
          const std::uint64_t tile = which == gen::Matrix::a   ? j / depth
                                     : which == gen::Matrix::b ? i / depth
                                                               : 0;
          const std::uint64_t row = which == gen::Matrix::b ? i % depth : i,
                              column = which == gen::Matrix::a ? j % depth : j;
          store_word(to.data(), bytes, i * columns + j,
                     gen::generate(generator, input_class, kSeed, which, tile, static_cast<int>(row),
                                   static_cast<int>(column)));
        }
    };
    fill(a, gen::Matrix::a, generator.a.storage_bytes(), x.m, x.k);
    fill(b, gen::Matrix::b, generator.b.storage_bytes(), x.k, x.n);
    fill(c, gen::Matrix::c, generator.c.storage_bytes(), x.m, x.n);
    Draws random = gen::detail::element_stream(kSeed, 1, static_cast<int>(input_class));
    factors_a.resize(x.batch * x.m * blocks), factors_b.resize(x.batch * x.n * blocks);
    for (auto* const to : {&factors_a, &factors_b})
      for (float& factor : *to) factor = __builtin_bit_cast(float, static_cast<std::uint32_t>(random.next()));
  }
};

TEST_F(HardwareProducts, HaveTheBitsOfThePlainCore) {
  constexpr std::uint64_t kShapes[][4] = {{1, 1, 1, 1},       {1, 64, 128, 64}, {1, 70, 130, 97},
                                          {1, 129, 257, 160}, {3, 33, 7, 31},   {2, 128, 129, 33},
                                          {1, 200, 3, 544},   {1, 5, 300, 8},   {1, 130, 48, 129}};
  std::size_t ran = 0, turn = 0;
  for (const Served& one : served(info_.compute_capability)) {
    for (int f = 0; f < gen::kInputClasses; ++f) {
      for (const Ending& ending : kEndings) {
        const auto& shape = kShapes[turn++ % std::size(kShapes)];
        const auto depth = static_cast<std::uint64_t>(one.instruction.k);
        Matmul x;
        x.batch = shape[0], x.m = shape[1], x.n = shape[2], x.k = shape[3];
        x.promote = ending.promote * depth;
        if (ending.epilogue) x.epilogue = Epilogue{1, ending.c ? 0.5F : 0.0F, ending.output};
        ProductFactors factors;
        factors.block = ending.chains_of_a_block * x.promote;
        factors.order = ending.order;
        const std::uint64_t blocks = factors.block != 0 ? detail::quotient_up(x.k, factors.block) : 1;
        const Operands host(one, static_cast<gen::InputClass>(f), x, blocks);
        const std::size_t bytes = x.batch * x.m * x.n * spec_of(ending.output).storage_bytes();
        std::vector<std::byte> c(host.c.begin(), host.c.begin() + static_cast<std::ptrdiff_t>(bytes));
        std::vector<std::byte> expected(bytes), found(bytes);
        const auto set = [&](const void* a, const void* b, const void* of_c, const float* of_a,
                             const float* of_b, void* d) {
          x.a = a, x.b = b, x.c = ending.c ? of_c : nullptr, x.d = d;
          if (!ending.factors) return;
          factors.a = {of_a, x.m * blocks, blocks, 1};
          factors.b = {of_b, x.n * blocks, blocks, 1};
        };
        set(host.a.data(), host.b.data(), c.data(), host.factors_a.data(), host.factors_b.data(),
            expected.data());
        MatmulOptions plain;
        plain.fast = false, plain.threads = 0;
        scaled_matmul(one.instruction, one.datapath, x, factors, plain);
        const Buffer a = uploaded(host.a), b = uploaded(host.b), of_c = uploaded(c),
                     of_a = uploaded(host.factors_a), of_b = uploaded(host.factors_b), d(bytes);
        poison(d.data(), bytes);
        set(a.data(), b.data(), of_c.data(), of_a.data<float>(), of_b.data<float>(), d.data());
        ASSERT_EQ(why_no_hardware(one.instruction, one.datapath, x), "");
        const DeviceProduct product(one.instruction, one.datapath, x, factors, DeviceModel::hardware);
        const Buffer space(product.workspace());
        product.launch(space.data(), nullptr);
        copy_out(found.data(), d.data(), bytes);
        EXPECT_TRUE(found == expected)
            << name_of(one.instruction) << " " << gen::name_of(static_cast<gen::InputClass>(f)) << " "
            << ending.name << " " << x.batch << " x " << x.m << " x " << x.n << " x " << x.k;
        ran += x.batch * x.m * x.n;
      }
    }
  }
  std::printf("%zu elements\n", ran);
  EXPECT_GE(ran, 500'000U);
}

TEST_F(HardwareProducts, RefuseWhatTheyCanNotDo) {
  const Served one = served(info_.compute_capability).front();
  Matmul x;
  x.m = x.n = 8, x.k = 64;
  EXPECT_EQ(why_no_hardware(one.instruction, one.datapath, x), "");
  const auto refuses = [&](const Instruction& instruction, const Datapath& datapath, const char* line) {
    EXPECT_EQ(why_no_hardware(instruction, datapath, x).substr(0, std::string(line).size()), line);
  };
  Datapath other = one.datapath;
  ++other.fraction_bits;
  refuses(one.instruction, other, "arch: found another one than this GPU's, of compute capability 9.0");
  Instruction half = one.instruction;
  half.d = half.c = Format::f16;
  refuses(half, one.datapath, "inst: found wgmma.");
  x.split_k = 2;
  refuses(one.instruction, one.datapath, "split_k: found 2 with hardware, allowed: 1");
  x.split_k = 1, x.promote = static_cast<std::uint64_t>(one.instruction.k);
  refuses(one.instruction, one.datapath, "promote: found ");
  x.promote = 0, x.k = 0;
  refuses(one.instruction, one.datapath, "k: found 0 with hardware, allowed: 1 or more");
}

}  // namespace
}  // namespace mmaudit::device
