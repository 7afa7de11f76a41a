// AMD's matrix cores: every rule by an input that tells it from its neighbour, FTTN's product and feature
// tests, names, and the formats of fp8 and bf8. Facts: MMA-Sim, FTTN (arXiv 2403.00232), MIOpen, AMD's ISA
// documents.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "fttn.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/names.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

const Datapath& datapath_on(const char* architecture, const std::string& name) {
  const DatapathEntry* entry = find_datapath(*find_architecture(architecture), instruction_of(name));
  if (entry == nullptr) throw std::invalid_argument(std::string(architecture) + " lacks " + name);
  return entry->datapath;
}

/// D, the products at k = 0, 1, ...
std::uint64_t dot_on(const char* architecture, const std::string& name, double c,
                     const std::vector<Pair>& products) {
  Dot dot(name);
  for (std::size_t k = 0; k < products.size(); ++k) dot.at(static_cast<int>(k), products[k].a, products[k].b);
  return dot.c(c).bits(datapath_on(architecture, name));
}

constexpr const char* kF16 = "v_mfma_f32_16x16x16f16";
constexpr const char* kBf16 = "v_mfma_f32_16x16x8bf16";
constexpr const char* kBf161k = "v_mfma_f32_16x16x16bf16_1k";
constexpr const char* kFp8 = "v_mfma_f32_16x16x32_bf8_bf8";

// FTTN's matrix product, with the operands of its public code (github.com/LLNL/FTTN, utility/common.hpp): K
// is 8192, a and b begin with 2^10, then a alternates 2^-2, 2^-3 and b is -2^-3; C is 2^20. Its abstract
// prints what is left of C - A B: 0 on V100, A100 and MI250X, 255.875 on MI100, 191.875 on H100. (Exact:
// 191.984375.) On MI250X the row says 255.875: four products of one sign, added before c, never vanish beside
// 2^20. MMA-Sim and Khattak, Mikaitis and Graziani both add four products first there. So the 0 contradicts
// the row.
TEST(MatrixCore, FttnsProduct) {
  const std::size_t k = 8192;
  std::vector<std::uint16_t> a(k), b(k);
  for (std::size_t i = 0; i < k; ++i) {
    a[i] = static_cast<std::uint16_t>(bits_of(i == 0 ? p2(10) : i % 2 == 1 ? p2(-2) : p2(-3), Format::f16));
    b[i] = static_cast<std::uint16_t>(bits_of(i == 0 ? p2(10) : -p2(-3), Format::f16));
  }
  struct Published {
    const char *gpu, *instruction;
    double abstract, by_row;
  };
  for (const Published& one : {Published{"v100", "wmma.m16n16k16.f32.f16.f16.f32", 0, 0},
                               {"a100", "wmma.m16n16k16.f32.f16.f16.f32", 0, 0},
                               {"h100", "wmma.m16n16k16.f32.f16.f16.f32", 191.875, 191.875},
                               {"mi100", kF16, 255.875, 255.875},
                               {"mi250x", kF16, 0, 255.875}}) {
    const auto c = static_cast<std::uint32_t>(bits_of(p2(20), Format::f32));
    std::uint32_t d = 0;
    Matmul product;
    product.m = product.n = 1;
    product.k = k;
    product.a = a.data();
    product.b = b.data();
    product.c = &c;
    product.d = &d;
    product.epilogue = Epilogue{-1, 1};
    EXPECT_EQ(why_no_matmul(instruction_of(one.instruction), datapath_on(one.gpu, one.instruction), product),
              "")
        << one.gpu;
    matmul(instruction_of(one.instruction), datapath_on(one.gpu, one.instruction), product, {});
    EXPECT_EQ(d, bits_of(one.by_row, Format::f32)) << one.gpu;
    EXPECT_EQ(one.by_row == one.abstract, std::string(one.gpu) != "mi250x") << one.gpu;
  }
  // The input that decides on an MI250X: a chain, as f32 has it, would lose each product.
  const std::vector<Pair> four(4, Pair{-p2(-3), p2(-3)});
  EXPECT_EQ(dot_on("mi250x", kF16, p2(20), four), 0x497FFFFFU);
  EXPECT_EQ(dot_on("mi250x", "v_mfma_f32_16x16x4f32", p2(20), four), 0x49800000U);
}

// FTTN's Table IV is an image, and no text repeats it. Of its results these were found: 0, 1 and at least 2
// extra bits and a width of 4, 8 and 16 or more on V100, A100 and H100 (a summary on linnk.ai); no f64 on
// MI100. The rest of a line is what MMA-Sim and Khattak and Mikaitis say of the unit.
TEST(MatrixCore, FttnsFeatureTests) {
  struct Line {
    const char *gpu, *instruction, *features;
  };
  const char *const f16 = "wmma.m16n16k16.f32.f16.f16.f32", *const bf16 = "wmma.m16n16k16.f32.bf16.bf16.f32",
                    *const tf32 = "wmma.m16n16k8.f32.tf32.tf32.f32",
                    *const f64 = "wmma.m8n8k4.f64.f64.f64.f64";
  const char* const chain = "subnormals, nearest, 3 bits, ties to even, sticky, width 1";
  for (const Line& line :
       {Line{"v100", f16, "subnormals, truncated, 0 bits, width 4"},
        {"a100", f16, "subnormals, truncated, 1 bit, width 8"},
        {"a100", bf16, "subnormals, truncated, 1 bit, width 8"},
        {"a100", tf32, "subnormals, truncated, 1 bit, width 4"},
        {"a100", f64, chain},
        {"h100", f16, "subnormals, truncated, 2+ bits, width 16"},
        {"h100", bf16, "subnormals, truncated, 2+ bits, width 16"},
        {"h100", tf32, "subnormals, truncated, 2+ bits, width 4"},
        {"h100", "mma.m16n8k8.f32.tf32.tf32.f32", "subnormals, truncated, 2+ bits, width 8"},
        {"h100", f64, chain},
        {"mi100", kF16, "subnormals, nearest, 3 bits, ties to even, sticky, width 4"},
        {"mi100", kBf16, "subnormals, nearest, 3 bits, ties to even, sticky, width 2"},
        {"mi100", "v_mfma_f32_16x16x4f32", chain},
        {"mi250x", kF16, "no subnormals, nearest, 3 bits, ties to even, sticky, width 1"},
        {"mi250x", kBf161k, "no subnormals, nearest, 3 bits, ties to even, sticky, width 1"},
        {"mi250x", "v_mfma_f32_16x16x4f32", chain},
        {"mi250x", "v_mfma_f64_16x16x4f64", chain}})
    EXPECT_EQ(FttnTests(instruction_of(line.instruction), datapath_on(line.gpu, line.instruction)).features(),
              line.features)
        << line.gpu << ' ' << line.instruction;
  EXPECT_EQ(find_datapath(*find_architecture("mi100"), instruction_of("v_mfma_f64_16x16x4f64")), nullptr);
  // A binary16 D is rounded to nearest: 2 and 3/4 of its unit, by a product and by c, of either sign.
  const double three_quarters = p2(-10) + p2(-11);
  for (const char* const gpu : {"v100", "a100", "h100"})
    for (const double sign : {1., -1.}) {
      const char* const to_f16 = "wmma.m16n16k16.f16.f16.f16.f16";
      const std::uint64_t up = bits_of(sign * (2 + p2(-9)), Format::f16);
      EXPECT_EQ(dot_on(gpu, to_f16, 0, {{1, sign * 2}, {1, sign * three_quarters}}), up) << gpu;
      EXPECT_EQ(dot_on(gpu, to_f16, sign * 2, {{1, sign * three_quarters}}), up) << gpu;
    }
  // Its input for monotonicity, eight ones and a c that grows from 2^25 - 2 to 2^25: A100's D falls.
  const std::vector<Pair> ones(8, Pair{1, 1});
  for (const auto& [gpu, less, more] :
       {std::tuple{"a100", p2(25) + 4, p2(25)}, {"h100", p2(25) + 4, p2(25) + 8}}) {
    EXPECT_EQ(dot_on(gpu, f16, p2(25) - 2, ones), bits_of(less, Format::f32)) << gpu;
    EXPECT_EQ(dot_on(gpu, f16, p2(25), ones), bits_of(more, Format::f32)) << gpu;
  }
}

// The input of MMA-Sim's table of discrepancies; the exact sum is -0.875.
TEST(MatrixCore, OneInputManyAnswers) {
  const std::vector<Pair> x = {{-p2(13), p2(10)}, {-0.5, 1}, {-0.25, 1}, {-0.125, 1}};
  for (const char* name : {kF16, kBf16, "v_mfma_f32_16x16x4f32"})
    EXPECT_EQ(dot_on("cdna1", name, p2(23), x), 0xBF600000U) << name;
  EXPECT_EQ(dot_on("cdna2", kF16, p2(23), x), 0U);
  EXPECT_EQ(dot_on("cdna2", kBf161k, p2(23), x), 0U);
  EXPECT_EQ(dot_on("cdna2", kBf16, p2(23), x), 0xBEC00000U);  // pairs: -2^23 loses -0.5, then -0.375
  EXPECT_EQ(dot_on("cdna3", kF16, p2(23), x), 0xBF000000U);
  EXPECT_EQ(dot_on("cdna3", kBf161k, p2(23), x), 0xBF000000U);
  EXPECT_EQ(dot_on("cdna3", "v_mfma_f32_16x16x8_xf32", p2(23), x), 0xBF000000U);
  EXPECT_EQ(dot_on("cdna3", kFp8, p2(23), x), 0xBF800000U);  // odd k: -0.625, floored to -1
  for (const char* gpu : {"cdna2", "cdna3"})
    EXPECT_EQ(dot_on(gpu, "v_mfma_f64_16x16x4f64", p2(23), x), 0xBFEC000000000000U) << gpu;
}

TEST(MatrixCore, Cdna1SumsExactlyAndRoundsOnce) {
  // Half a unit of c, and 2^-68 of it.
  EXPECT_EQ(dot_on("mi100", kF16, p2(20), {{p2(-4), 1}, {p2(-24), p2(-24)}}), 0x49800001U);
  EXPECT_EQ(dot_on("mi100", kF16, p2(20), {{p2(-4), 1}}), 0x49800000U);
  EXPECT_EQ(dot_on("mi100", kF16, p2(20), {{p2(-4), 1}, {-p2(-24), p2(-24)}}), 0x49800000U);
  // Four products of a step, not five; of bf16 two, not three.
  EXPECT_EQ(dot_on("mi100", kF16, 0, {{p2(15), p2(15)}, {1, 1}, {0, 0}, {-p2(15), p2(15)}}), 0x3F800000U);
  EXPECT_EQ(dot_on("mi100", kF16, 0, {{p2(15), p2(15)}, {1, 1}, {0, 0}, {0, 0}, {-p2(15), p2(15)}}), 0U);
  EXPECT_EQ(dot_on("mi100", kBf16, p2(30), {{-p2(15), p2(15)}, {1, 1}}), 0x3F800000U);
  EXPECT_EQ(dot_on("mi100", kBf16, 0, {{p2(15), p2(15)}, {1, 1}, {-p2(15), p2(15)}}), 0U);
  // The widest sum: nothing is lost between the largest and the least product.
  EXPECT_EQ(dot_on("mi100", kBf16, p2(-149), {{p2(127), p2(127)}, {-p2(127), p2(127)}}), 1U);
  EXPECT_EQ(dot_on("mi100", kBf16, 0, {{p2(127), p2(1)}}), 0x7F800000U);
}

TEST(MatrixCore, SubnormalsAreKeptByCdna1AndCdna3AndFlushedByCdna2) {
  for (const char* gpu : {"cdna1", "cdna3"}) {
    EXPECT_EQ(dot_on(gpu, kF16, 0, {{p2(-24), 1}}), 0x33800000U) << gpu;
    EXPECT_EQ(dot_on(gpu, kF16, p2(-149), {}), 1U) << gpu;
  }
  EXPECT_EQ(dot_on("cdna2", kF16, 0, {{p2(-24), 1}}), 0U);
  EXPECT_EQ(dot_on("cdna2", kF16, p2(-149), {}), 0U);
  EXPECT_EQ(dot_on("cdna2", kF16, 0, {{p2(-14), p2(-14)}}), 0x31800000U);
  // A product, and a sum, below the least normal number; the sum keeps its sign.
  EXPECT_EQ(dot_on("cdna2", kBf161k, 0, {{p2(-100), p2(-30)}}), 0U);
  EXPECT_EQ(dot_on("cdna2", "v_mfma_f32_16x16x4bf16_1k", p2(-126), {{-1.5 * p2(-126), 1}}), 0x80000000U);
  EXPECT_EQ(dot_on("cdna1", kBf16, p2(-126), {{-1.5 * p2(-126), 1}}), 0x80400000U);
}

TEST(MatrixCore, Cdna2ReadsMinusZeroAsPlusZero) {
  // The first step leaves -0; the others add products of -0 and 1.
  Dot dot(kBf161k);
  dot.c(p2(-126)).at(0, -1.5 * p2(-126), 1);
  for (int k = 4; k < 16; ++k) dot.raw(k, 0x8000, 0x3F80);
  EXPECT_EQ(dot.bits(datapath_on("cdna2", kBf161k)), 0U);
  Datapath kept = datapath_on("cdna2", kBf161k);
  kept.subnormal_operand = SubnormalRule::flushed;
  EXPECT_EQ(dot.bits(kept), 0x80000000U);
}

TEST(MatrixCore, Cdna2AddsInPairsAndThenC) {
  // (0 + 1) + (2 + 3): one at a time would lose 1 + 1 beside 2^24.
  EXPECT_EQ(dot_on("cdna2", kF16, 0, {{4096, 4096}, {1, 0}, {1, 1}, {1, 1}}), 0x4B800001U);
  EXPECT_EQ(dot_on("cdna2", kF16, 0, {{4096, 4096}, {1, 1}, {0, 0}, {1, 1}}), 0x4B800000U);
  EXPECT_EQ(dot_on("cdna2", kF16, p2(24), {{1, 1}, {0, 0}, {1, 1}}), 0x4B800001U);
  EXPECT_EQ(dot_on("cdna2", kBf16, p2(24), {{1, 1}, {0, 0}, {1, 1}}), 0x4B800000U);
}

TEST(MatrixCore, Cdna3FloorsTheSums) {
  // Below 1 + 2^-23 by a hair less than half a unit: toward zero would keep 3F800001.
  EXPECT_EQ(dot_on("mi300x", kF16, 1 + p2(-23), {{-p2(-12), p2(-12)}, {p2(-20), p2(-20)}}), 0x3F800000U);
  EXPECT_EQ(dot_on("mi300x", kF16, 1 + p2(-23), {{p2(-12), p2(-12)}, {-p2(-20), p2(-20)}}), 0x3F800001U);
  // 32 bits of the products below the largest exponent, and 31 of the sum. An older MMA-Sim has 31 of the
  // products: C37F0000.
  EXPECT_EQ(dot_on("mi300x", kF16, -256, {{1, 1}, {p2(-8), p2(-9)}, {p2(-12), p2(-12)}}), 0xC37EFFFFU);
  // A small negative c: one unit of 2^-24, or nothing where c is far away.
  EXPECT_EQ(dot_on("mi300x", kF16, -p2(-30), {{1, 1}}), 0x3F7FFFFFU);
  EXPECT_EQ(dot_on("mi300x", kFp8, -p2(-30), {{1, 1}}), 0x3F800000U);
  EXPECT_EQ(dot_on("mi300x", kFp8, -p2(-25), {{1, 1}}), 0x3F7FFFFFU);
}

TEST(MatrixCore, Cdna3CutsProductsAt24BitsOfTheirOwn) {
  EXPECT_EQ(dot_on("mi300x", kF16, 0, {{1, 1}, {-1, 1}, {p2(-12), p2(-12)}}), 0x33800000U);
  EXPECT_EQ(dot_on("mi300x", kF16, 0, {{1, 1}, {-1, 1}, {p2(-12), p2(-13)}}), 0U);
  // Eight products of a step, of xf32 four; c has no part in the exponent of the products.
  const auto ninth = [](const char* name, int k) {
    Dot dot(name);
    return dot.at(0, p2(15), p2(15)).at(1, 64, 1).at(k, -p2(15), p2(15)).bits(datapath_on("mi300x", name));
  };
  EXPECT_EQ(ninth(kF16, 7), 0x42800000U);
  EXPECT_EQ(ninth(kF16, 8), 0U);
  EXPECT_EQ(ninth("v_mfma_f32_16x16x8_xf32", 3), 0x42800000U);
  EXPECT_EQ(ninth("v_mfma_f32_16x16x8_xf32", 4), 0U);
  // Even and odd k of fp8 have an exponent each.
  EXPECT_EQ(dot_on("mi300x", kFp8, 0, {{p2(13), p2(13)}, {2, 1}, {-p2(13), p2(13)}}), 0U);
  EXPECT_EQ(dot_on("mi300x", kFp8, 0, {{p2(13), p2(13)}, {-2, 1}, {-p2(13), p2(13)}}), 0xC0800000U);
}

TEST(MatrixCore, ProductsBeyondBinary32) {
  const std::vector<Pair> cancel = {{p2(64), p2(64)}, {-p2(64), p2(64)}};
  EXPECT_EQ(dot_on("cdna1", kBf16, 1, cancel), 0x3F800000U);
  EXPECT_EQ(dot_on("cdna2", kBf16, 1, cancel), 0x7FC00000U);
  EXPECT_EQ(dot_on("cdna3", kBf161k, 1, cancel), 0x7FC00000U);
  EXPECT_EQ(dot_on("cdna3", kBf161k, 1, {{p2(64), p2(64)}}), 0x7F800000U);
  EXPECT_EQ(dot_on("cdna3", kBf161k, 1, {{1.5 * p2(63), p2(64)}, {-1.5 * p2(63), p2(64)}}), 0U);
}

TEST(MatrixCore, NanAndInfinity) {
  for (const char* gpu : {"cdna1", "cdna2", "cdna3"}) {
    const Datapath& datapath = datapath_on(gpu, kF16);
    EXPECT_EQ(Dot(kF16).raw(0, 0x7C00, 0x3C00).bits(datapath), 0x7F800000U) << gpu;
    EXPECT_EQ(Dot(kF16).raw(5, 0x7C00, 0x0000).bits(datapath), 0x7FC00000U) << gpu;
    EXPECT_EQ(Dot(kF16).raw(0, 0x7C00, 0xBC00).raw(1, 0x7C00, 0x3C00).bits(datapath), 0x7FC00000U) << gpu;
    EXPECT_EQ(Dot(kF16).raw_c(0xFF800000).bits(datapath), 0xFF800000U) << gpu;
    EXPECT_EQ(Dot(kF16).raw_c(0x7F800001).bits(datapath), 0x7FC00000U) << gpu;
  }
  EXPECT_EQ(Dot(kFp8).raw(0, 0x80, 0).bits(datapath_on("cdna3", kFp8)), 0x7FC00000U);
}

TEST(MatrixCore, ATotalOutsideOfTheInstructionKeepsSubnormals) {
  const Instruction inst = instruction_of("v_mfma_f32_32x32x8f16");
  const std::vector<std::uint16_t> zeros(8);
  const std::uint32_t c = 0x00600238;  // subnormal
  for (const char* const name : {"cdna1", "cdna2"})
    for (const std::uint64_t promote : {0, 8}) {
      std::uint32_t d = 1;
      Matmul one;
      one.m = one.n = 1;
      one.k = 8;
      one.a = one.b = zeros.data();
      one.c = &c;
      one.d = &d;
      one.promote = promote;
      matmul(inst, datapath_on(name, "v_mfma_f32_32x32x8f16"), one, {});
      const bool flushes = promote == 0 && std::string(name) == "cdna2";
      EXPECT_EQ(d, flushes ? 0U : c) << name << " promote " << promote;
    }
}

TEST(MatrixCore, NamesAndAliases) {
  const auto read = [](std::string_view text) {
    const auto found = read_instruction(text);
    return found ? name_of(*found) : "";
  };
  EXPECT_EQ(read("v_mfma_f32_32x32x8f16"), "v_mfma_f32_32x32x8f16");
  for (const char* text :
       {"v_mfma_f32_32x32x4_2b_f16", "V_MFMA_F32_32X32X4F16", "v_mfma_f32_32x32x4f16 a[0:31]",
        "__builtin_amdgcn_mfma_f32_32x32x4f16", "mfma_f32_32x32x4f16"})
    EXPECT_EQ(read(text), "v_mfma_f32_32x32x4f16") << text;
  EXPECT_EQ(read("v_mfma_f32_32x32x8_bf16"), "v_mfma_f32_32x32x8bf16_1k");
  EXPECT_EQ(read("v_mfma_f32_32x32x4bf16"), "v_mfma_f32_32x32x4bf16");
  EXPECT_EQ(read("v_mfma_f32_32x32x4_2b_bf16"), "v_mfma_f32_32x32x4bf16_1k");
  EXPECT_EQ(read("v_mfma_f64_4x4x4_4b_f64"), "");  // 16 blocks of 4 x 4 would be 16b
  EXPECT_EQ(read("v_mfma_f32_16x16x32_fp8_bf8"), "v_mfma_f32_16x16x32_fp8_bf8");
  for (const char* text : {"v_mfma_f32_32x32x9f16", "v_mfma_f32_32x32x8f17", "v_mfma_f32_32x32", "v_mfma_"})
    EXPECT_EQ(read(text), "") << text;
  const std::pair<const char*, const char*> aliases[] = {
      {"MI100", "cdna1"},  {"gfx908", "cdna1"}, {"AMD Instinct MI250X", "cdna2"},
      {"gfx90a", "cdna2"}, {"mi210", "cdna2"},  {"MI300X", "cdna3"},
      {"gfx942", "cdna3"}, {"mi300a", "cdna3"}};
  for (const auto& [alias, name] : aliases) {
    ASSERT_NE(find_architecture(alias), nullptr) << alias;
    EXPECT_EQ(find_architecture(alias)->name, name) << alias;
  }
  EXPECT_EQ(find_architecture("rdna3"), nullptr);  // no source says how its wmma sums
}

TEST(MatrixCore, EveryGpuHasItsOwnInstructions) {
  const auto has = [](const char* gpu, const char* name) {
    return find_datapath(*find_architecture(gpu), instruction_of(name)) != nullptr;
  };
  EXPECT_TRUE(has("cdna1", kBf16) && has("cdna2", kBf16) && !has("cdna3", kBf16));
  EXPECT_TRUE(!has("cdna1", kBf161k) && has("cdna2", kBf161k) && has("cdna3", kBf161k));
  EXPECT_TRUE(!has("cdna1", kFp8) && !has("cdna2", kFp8) && has("cdna3", kFp8));
  EXPECT_TRUE(!has("hopper", kF16) && !has("cdna3", "mma.m16n8k16.f32.f16.f16.f32"));
  for (const char* gpu : {"cdna1", "cdna2", "cdna3"})
    for (const DatapathEntry& entry : find_architecture(gpu)->datapaths)
      EXPECT_EQ(entry.evidence, Evidence::literature) << gpu << ' ' << name_of(entry.unit);
}

// ml_dtypes' float8_e4m3fnuz and float8_e5m2fnuz in closed form.
TEST(MatrixCore, FnuzFormatsHaveOneZeroOneNanAndNoInfinity) {
  struct Layout {
    Format format;
    int fraction_bits, bias;
    double largest, least;
  };
  for (const Layout& x :
       {Layout{Format::e4m3fnuz, 3, 8, 240, p2(-10)}, {Format::e5m2fnuz, 2, 16, 57344, p2(-17)}}) {
    const FormatSpec spec = spec_of(x.format);
    for (unsigned code = 0; code < 256; ++code) {
      const unsigned magnitude = code & 0x7F;
      const int field = static_cast<int>(magnitude >> x.fraction_bits), unit = 1 << x.fraction_bits;
      const int fraction = static_cast<int>(magnitude) % unit;
      const double value =
          std::ldexp(field == 0 ? fraction : unit + fraction, std::max(field, 1) - x.bias - x.fraction_bits);
      const double read = decode_value(code, spec);
      if (code == 0x80) {
        EXPECT_TRUE(std::isnan(read));
        continue;
      }
      EXPECT_EQ(read, code > 0x80 ? -value : value) << code;
      EXPECT_EQ(encode_nearest_even(read, spec), code);
    }
    EXPECT_EQ(decode_value(0x7F, spec), x.largest);
    EXPECT_EQ(decode_value(0x01, spec), x.least);
    for (const double beyond :
         {2 * x.largest, -2 * x.largest, double(INFINITY), -double(INFINITY), double(NAN)})
      EXPECT_EQ(encode_nearest_even(beyond, spec), 0x80U) << beyond;
    EXPECT_EQ(encode_nearest_even(-2 * x.largest, spec, true), 0xFFU);
    EXPECT_EQ(encode_nearest_even(-x.least / 4, spec), 0U);
    EXPECT_EQ(encode_nearest_even(-0.0, spec), 0U);
  }
}

}  // namespace
}  // namespace mmaudit::test
