// Published vectors of the generations besides Hopper. Bits: MMA-Sim (arXiv 2511.10909, table 8), Fasi et al.
// (PeerJ CS 7:e330), TC-EFT, and an exact-integer evaluator that is not this code.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tile.hpp"

namespace mmaudit::test {
namespace {

constexpr const char* kVolta = "mma.m8n8k4.f32.f16.f16.f32";
constexpr const char* kVoltaHalf = "mma.m8n8k4.f16.f16.f16.f16";
constexpr const char* kAmpere = "mma.m16n8k8.f32.f16.f16.f32";
constexpr const char* kAmpereHalf = "mma.m16n8k8.f16.f16.f16.f16";
constexpr const char* kHopper = "mma.m16n8k16.f32.f16.f16.f32";
constexpr const char* kHopperHalf = "mma.m16n8k16.f16.f16.f16.f16";

struct Pair {
  double a, b;
};

double p2(int exponent) { return std::ldexp(1.0, exponent); }

/// D of `name` on `architecture`, the products at k = 0, 1, ...
std::uint64_t dot_on(const char* architecture, const std::string& name, double c,
                     const std::vector<Pair>& products) {
  Dot dot(name);
  for (std::size_t k = 0; k < products.size(); ++k) dot.at(static_cast<int>(k), products[k].a, products[k].b);
  const DatapathEntry* entry = find_datapath(*find_architecture(architecture), instruction_of(name));
  if (entry == nullptr) throw std::invalid_argument(std::string(architecture) + " lacks " + name);
  return dot.c(c).bits(entry->datapath);
}

struct Vector {
  const char* id;
  double c;
  std::vector<Pair> products;
  std::uint64_t volta, ampere, hopper;
};

void check(const std::vector<Vector>& vectors, const char* volta, const char* ampere, const char* hopper) {
  for (const Vector& x : vectors) {
    SCOPED_TRACE(x.id);
    EXPECT_EQ(dot_on("volta", volta, x.c, x.products), x.volta);
    for (const char* name : {"turing", "ampere", "ga10x", "ada"})
      EXPECT_EQ(dot_on(name, ampere, x.c, x.products), x.ampere) << name;
    for (const char* name : {"hopper", "blackwell", "blackwell_rtx"})
      EXPECT_EQ(dot_on(name, hopper, x.c, x.products), x.hopper) << name;
  }
}

TEST(Generations, Binary32Results) {
  const Pair one{1, 1}, minus{-1, 1}, small{p2(-12), p2(-12)}, smaller{p2(-12), p2(-13)};
  const float largest = 3.40282346638528859812e38F;
  check({{"A1", 0, {one, {p2(-11), p2(-12)}, minus}, 0x34000000, 0x34000000, 0x34000000},
         {"A2", 0, {one, small, minus}, 0, 0x33800000, 0x33800000},
         {"A3", 0, {one, smaller, minus}, 0, 0, 0x33000000},
         {"A4", 0, {one, {p2(-13), p2(-13)}, minus}, 0, 0, 0},
         {"A5a", 0, {{1.5, 1.5}, {p2(-11), p2(-12)}, {-1.5, 1.5}}, 0x34000000, 0x34000000, 0x34000000},
         {"A5b", 0, {{1.5, 1.5}, small, {-1.5, 1.5}}, 0, 0x33800000, 0x33800000},
         {"A5c", 0, {{1.5, 1.5}, smaller, {-1.5, 1.5}}, 0, 0, 0x33000000},
         {"A6", 1, {smaller, smaller, smaller, smaller}, 0x3F800000, 0x3F800000, 0x3F800001},
         {"A7", 1, {small, small, small, small}, 0x3F800000, 0x3F800002, 0x3F800002},
         {"A8", 1, {small, small, small}, 0x3F800000, 0x3F800001, 0x3F800001},
         {"A9", 1, {{-p2(-15), p2(-15)}}, 0x3F800000, 0x3F800000, 0x3F800000},
         {"A10", -1, {{-p2(-12), p2(-12)}, {-p2(-12), p2(-12)}}, 0xBF800000, 0xBF800001, 0xBF800001},
         {"A11", -p2(24), {{4096, 4096}, one}, 0, 0x3F800000, 0x3F800000},
         {"A12", -p2(24), {{4096, 4096}, {0.5, 1}}, 0, 0, 0x3F000000},
         {"A17", largest, {}, 0x7F7FFFFF, 0x7F7FFFFF, 0x7F7FFFFF}},
        kVolta, kAmpere, kHopper);
}

TEST(Generations, Binary16Results) {
  const Pair one{1, 1}, unit{p2(-5), p2(-6)};
  check({{"A13", 0, {one, unit}, 0x3C00, 0x3C00, 0x3C00},
         {"A14", 0, {one, unit, {p2(-10), p2(-13)}}, 0x3C01, 0x3C01, 0x3C01},
         {"A15a", 0, {{p2(-12), p2(-12)}}, 1, 1, 1},
         {"A15b", 0, {{p2(-12), p2(-13)}}, 0, 0, 0},
         {"A15c", 0, {{1.5 * p2(-12), p2(-13)}}, 1, 1, 1},
         {"A16a", 0, {{256, 256}}, 0x7C00, 0x7C00, 0x7C00},
         {"A16b", 0, {{256, 256}, {-16, 1}}, 0x7C00, 0x7C00, 0x7C00},
         {"A16c", 0, {{256, 256}, {-17, 1}}, 0x7BFF, 0x7BFF, 0x7BFF}},
        kVoltaHalf, kAmpereHalf, kHopperHalf);
}

TEST(Generations, FeaturesOfFasiEtAl) {
  check({{"extra bits", -(1 - p2(-24)), {{1, 1}}, 0x34000000, 0x33800000, 0x33800000},
         {"alignment before normalisation",
          1 - p2(-24),
          {{p2(-12), p2(-12)}, {p2(-12), p2(-12)}, {p2(-12), p2(-12)}, {p2(-12), p2(-12)}},
          0x3F800001,
          0x3F800001,
          0x3F800001},
         {"truncation", -1 + p2(-24), {{1, 1}, {-p2(-12), p2(-12)}}, 0x34000000, 0, 0},
         {"rounding toward zero", p2(-23), {{2, 1}, {p2(-12), p2(-12)}}, 0x40000000, 0x40000000, 0x40000000}},
        kVolta, kAmpere, kHopper);
  check({{"rounding to nearest even", 0, {{p2(-12), p2(-13)}, {p2(-13), p2(-13)}}, 1, 1, 1}}, kVoltaHalf,
        kAmpereHalf, kHopperHalf);
}

TEST(Generations, UnnormalisedProductsOnVolta) {
  const double x = p2(-11) * 1;  // 1000 in binary16
  EXPECT_EQ(dot_on("volta", kVolta, 0, {{1.5, 1.5}, {x, p2(-12)}, {x, p2(-12)}}), 0x40100001U);
  EXPECT_EQ(dot_on("volta", kVolta, 0, {{1, 2.25}, {x, p2(-12)}, {x, p2(-12)}}), 0x40100000U);
  EXPECT_EQ(dot_on("volta", kVolta, 1 - p2(-24), {{1.5, 1.25}, {1.5, 1.25}, {1.5, 1.25}, {1.5, 1.25}}),
            0x4107FFFFU);
}

// One dot product, a different answer from almost every generation; the exact sum is -0.875.
TEST(Generations, OneInputManyAnswers) {
  const std::vector<Pair> products = {{-p2(13), p2(10)}, {-0.5, 1}, {-0.25, 1}, {-0.125, 1}};
  EXPECT_EQ(dot_on("volta", kVolta, p2(23), products), 0U);
  for (const char* name : {"turing", "ampere", "ga10x", "ada"})
    EXPECT_EQ(dot_on(name, kAmpere, p2(23), products), 0xBF000000U) << name;
  for (const char* name : {"hopper", "blackwell", "blackwell_rtx"})
    EXPECT_EQ(dot_on(name, kHopper, p2(23), products), 0xBF400000U) << name;
  for (const char* name : {"ampere", "ga10x", "ada"}) {
    EXPECT_EQ(dot_on(name, "mma.m16n8k8.f32.bf16.bf16.f32", p2(23), products), 0xBF000000U) << name;
    EXPECT_EQ(dot_on(name, "mma.m16n8k4.f32.tf32.tf32.f32", p2(23), products), 0xBF000000U) << name;
  }
  const std::string fp8 = "mma.m16n8k32.f32.e5m2.e5m2.f32";
  EXPECT_EQ(dot_on("ada", fp8, p2(23), products), 0U);
  EXPECT_EQ(dot_on("hopper", "wgmma.m64n8k32.f32.e5m2.e5m2", p2(23), products), 0U);
  EXPECT_EQ(dot_on("blackwell_rtx", fp8, p2(23), products), 0xBF400000U);
}

// FP8 with binary32 results: two steps of 16 and 13 bits, the binary16 units, or one step of 32 and 25 bits.
TEST(Generations, Fp8) {
  const std::string fp8 = "mma.m16n8k32.f32.e4m3.e4m3.f32";
  struct Fp8Vector {
    const char* id;
    double c;
    std::vector<Pair> products;
    std::uint64_t ada, widened, native;
  };
  const double pi = 3.14159274101257324219;
  const std::vector<Pair> ones(32, {1, 1});
  const std::vector<Fp8Vector> vectors = {
      {"A20", 0, {{1, 1}, {p2(-6), p2(-7)}, {-1, 1}}, 0x39000000, 0x39000000, 0x39000000},
      {"A21", 0, {{1, 1}, {p2(-7), p2(-7)}, {-1, 1}}, 0, 0x38800000, 0x38800000},
      {"A22", 0, {{1, 1}, {1, 1}, {p2(-6), p2(-7)}}, 0x40000000, 0x40000200, 0x40000200},
      {"A23", pi, {}, 0x40490C00, 0x40490FDB, 0x40490FDB},
      {"A24", pi, {{1, 1}}, 0x40848400, 0x408487EE, 0x408487ED},
      {"A26", p2(14), ones, 0x46800000, 0x46804000, 0x46804000},
      {"A27", 256, {{p2(-9), 1.5 * p2(-7)}}, 0x43800000, 0x43800001, 0x43800000},
      {"A28", 0, std::vector<Pair>(32, {448, 448}), 0x4AC40000, 0x4AC40000, 0x4AC40000},
      {"A29", -1, {{1, 1}, {p2(-9), p2(-9)}}, 0, 0x36800000, 0x36800000}};
  for (const Fp8Vector& x : vectors) {
    SCOPED_TRACE(x.id);
    EXPECT_EQ(dot_on("ada", fp8, x.c, x.products), x.ada);
    EXPECT_EQ(dot_on("blackwell", fp8, x.c, x.products), x.widened);
    EXPECT_EQ(dot_on("blackwell_rtx", fp8, x.c, x.products), x.native);
  }
}

// Where the k of one instruction fall into more than one step: the contiguous halves, in ascending order.
TEST(Generations, StepsOfAmpere) {
  for (const char* name : {"ampere", "ga10x", "ada"}) {
    for (int j = 2; j < 16; ++j) {
      if (j == 8 || j == 9) continue;
      std::vector<Pair> products(16, {0, 0});
      for (const int k : {0, 1}) products[static_cast<std::size_t>(k)] = {1024, 1024};
      for (const int k : {8, 9}) products[static_cast<std::size_t>(k)] = {-1024, 1024};
      products[static_cast<std::size_t>(j)] = {0.125, 1};
      EXPECT_EQ(dot_on(name, kHopper, 0, products), j < 8 ? 0U : 0x3E000000U) << name << ' ' << j;
    }
  }
}

// The floor of binary16 results shows only where c is zero: the last kept bit of each generation.
TEST(Generations, FloorOfBinary16) {
  const auto first_dropped = [](const char* architecture, const char* name) {
    for (int j = 0; j < 23; ++j)
      if (dot_on(architecture, name, 0, {{p2(-11), p2(-14)}, {p2(-2 - j), p2(-24)}}) == 0) return j;
    return -1;
  };
  EXPECT_EQ(first_dropped("volta", kVoltaHalf), 17);
  EXPECT_EQ(first_dropped("ampere", kAmpereHalf), 19);
  EXPECT_EQ(first_dropped("hopper", kHopperHalf), 21);
}

// A binary16 c keeps the exponent of its format when D is binary32 too.
TEST(Generations, VoltaWidensNoSubnormalAddend) {
  EXPECT_EQ(dot_on("volta", "mma.m8n8k4.f32.f16.f16.f16", p2(-24), {{p2(-20), p2(-20)}}), 0x33800000U);
}

TEST(Generations, AnArchitectureOffersWhatItsHardwareHas) {
  const auto has = [](const char* architecture, const char* name) {
    return find_datapath(*find_architecture(architecture), instruction_of(name)) != nullptr;
  };
  EXPECT_TRUE(has("turing", kVolta));
  for (const char* name : {"ampere", "ga10x", "ada", "hopper", "blackwell", "blackwell_rtx"}) {
    EXPECT_TRUE(has(name, kVolta)) << name;  // as code for other units
    EXPECT_EQ(has(name, "tcgen05.m128n8k16.kind_f16.f32.f16.f16"), name == std::string("blackwell")) << name;
  }
  EXPECT_FALSE(has("volta", kAmpere));
  EXPECT_FALSE(has("turing", kHopper));
  EXPECT_FALSE(has("turing", "mma.m16n8k8.f32.bf16.bf16.f32"));
  EXPECT_FALSE(has("ampere", "mma.m16n8k32.f32.e4m3.e4m3.f32"));
  EXPECT_TRUE(has("ampere", "mma.m8n8k4.f64.f64.f64.f64"));
  EXPECT_FALSE(has("ada", "mma.m16n8k8.f64.f64.f64.f64"));
  EXPECT_TRUE(has("blackwell", "mma.m16n8k8.f64.f64.f64.f64"));
  for (const Architecture& row : architectures())
    EXPECT_EQ(has(std::string(row.name).c_str(), "wgmma.m64n8k16.f32.f16.f16"), row.compute_capability == 90);
  EXPECT_EQ(find_architecture(87), find_architecture("ga10x"));
  EXPECT_EQ(find_architecture(103), find_architecture("b300"));
  EXPECT_EQ(find_architecture(110), nullptr);
}

}  // namespace
}  // namespace mmaudit::test
