// Tiles: modifiers, batches, layouts, and the same bits from dot(), emulate() and explain().
#include <algorithm>
#include <array>
#include <limits>

#include "mmaudit/explain.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A cheap stream of bits, the same in every run.
struct Bits {
  std::uint64_t state = 1;
  std::uint64_t next() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state ^ (state >> 33);
  }
};

std::vector<Instruction> every_instruction() {
  return instructions_where([](const Instruction&) { return true; });
}

TEST(Modifiers, ScaleDZeroDoesNotReadC) {
  for (const char* name : {"wgmma.m64n8k16.f32.f16.f16", "wgmma.m64n8k16.f32.bf16.bf16",
                           "wgmma.m64n8k8.f32.tf32.tf32", "wgmma.m64n8k32.f32.e4m3.e4m3"}) {
    EXPECT_EQ(Dot(name).at(0, 1, 1).c(kNan).modifiers(kScaleDZero).bits(), 0x3F800000U) << name;
    EXPECT_EQ(Dot(name).at(0, 0x1p-8, 0x1p-8).c(0x1p30).modifiers(kScaleDZero).bits(), 0x37800000U) << name;
    EXPECT_EQ(Dot(name).c(-1).modifiers(kScaleDZero).bits(), 0U) << name;
  }
}

TEST(Modifiers, NegationFlipsTheSignOfElements) {
  for (const Instruction& inst :
       instructions_where([](const Instruction& r) { return r.op == Op::wgmma && !is_integer(r); })) {
    const double one = 1;
    const std::uint64_t plus = bits_of(one, inst.d), minus = bits_of(-one, inst.d);
    EXPECT_EQ(Dot(inst).at(0, 1, 1).modifiers(kNegateA).bits(), minus);
    EXPECT_EQ(Dot(inst).at(0, 1, 1).modifiers(kNegateB).bits(), minus);
    EXPECT_EQ(Dot(inst).at(0, 1, 1).modifiers(kNegateA | kNegateB).bits(), plus);
    EXPECT_EQ(Dot(inst).at(0, 1, 1).c(1).modifiers(kNegateA).bits(), 0U);
    EXPECT_EQ(Dot(inst).modifiers(kNegateA).bits(), 0U);  // zeros stay +0
    const std::uint64_t nan = spec_of(inst.d).sign_bit() - 1;
    EXPECT_EQ(Dot(inst).at(0, kNan, 1).modifiers(kNegateA).bits(), nan);
  }
  EXPECT_EQ(Dot("wgmma.m64n8k32.f32.e5m2.e4m3").raw(0, 0x7C, 0x38).modifiers(kNegateA).bits(), 0xFF800000U);
}

TEST(Modifiers, WhereAnOperandCameFromChangesNothing) {
  for (const unsigned modifier : {kAFromRegisters, kTransposeA, kTransposeB})
    EXPECT_EQ(Dot("wgmma.m64n8k16.f32.f16.f16").at(3, 2, 3).c(1).modifiers(modifier).bits(),
              bits_of(7, Format::f32));
}

struct Tiles {
  std::vector<std::uint8_t> a, b, c, d;
};

/// `count` tiles of random bits.
Tiles random_tiles(const Instruction& inst, std::size_t count, Bits& random) {
  const auto m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n);
  const auto depth = static_cast<std::size_t>(inst.k);
  Tiles tiles;
  tiles.a.resize(count * m * depth * spec_of(inst.a).storage_bytes());
  tiles.b.resize(count * depth * n * spec_of(inst.b).storage_bytes());
  tiles.c.resize(count * m * n * spec_of(inst.c).storage_bytes());
  tiles.d.resize(count * m * n * spec_of(inst.d).storage_bytes());
  for (auto* buffer : {&tiles.a, &tiles.b, &tiles.c})
    for (std::uint8_t& byte : *buffer) byte = static_cast<std::uint8_t>(random.next() >> 56);
  return tiles;
}

std::uint64_t element(const std::vector<std::uint8_t>& buffer, Format format, std::size_t index) {
  const std::size_t bytes = spec_of(format).storage_bytes();
  std::uint64_t bits = 0;
  std::memcpy(&bits, buffer.data() + index * bytes, bytes);
  return bits;
}

TEST(Emulate, EveryElementOfABatchIsItsDotProduct) {
  Bits random;
  for (const Instruction& inst : every_instruction()) {
    const auto m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n);
    const auto depth = static_cast<std::size_t>(inst.k);
    constexpr std::size_t kTiles = 3;
    Tiles tiles = random_tiles(inst, kTiles, random);
    const std::array<std::uint8_t, kTiles> modifiers = {
        0, inst.op == Op::wgmma ? std::uint8_t{kNegateA} : std::uint8_t{0},
        inst.op == Op::wgmma ? std::uint8_t{kScaleDZero | kNegateB} : std::uint8_t{0}};
    const Datapath model = hopper_row(inst);
    emulate(inst, model,
            {kTiles, tiles.a.data(), tiles.b.data(), tiles.c.data(), tiles.d.data(), modifiers.data()});
    const DotSpec spec = make_dot_spec(inst, model);
    for (std::size_t t = 0; t < kTiles; ++t) {
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          std::vector<std::uint64_t> a, b;
          for (std::size_t k = 0; k < depth; ++k) {
            a.push_back(element(tiles.a, inst.a, (t * m + i) * depth + k));
            b.push_back(element(tiles.b, inst.b, (t * depth + k) * n + j));
          }
          const std::uint64_t c = element(tiles.c, inst.c, (t * m + i) * n + j);
          const std::uint64_t d = element(tiles.d, inst.d, (t * m + i) * n + j);
          ASSERT_EQ(d, dot(spec, Strided<std::uint64_t>{a.data()}, Strided<std::uint64_t>{b.data()}, c,
                           modifiers[t]))
              << name_of(inst);
          ASSERT_EQ(explain(spec, a.data(), b.data(), c, modifiers[t]).result, d) << name_of(inst);
        }
      }
    }
  }
}

TEST(Emulate, WithoutCEveryAddendIsPlusZero) {
  Bits random;
  for (const Instruction& inst : every_instruction()) {
    Tiles tiles = random_tiles(inst, 2, random);
    std::fill(tiles.c.begin(), tiles.c.end(), std::uint8_t{0});
    const Datapath model = hopper_row(inst);
    emulate(inst, model, {2, tiles.a.data(), tiles.b.data(), tiles.c.data(), tiles.d.data(), nullptr});
    std::vector<std::uint8_t> without(tiles.d.size(), 0xAA);
    emulate(inst, model, {2, tiles.a.data(), tiles.b.data(), nullptr, without.data(), nullptr});
    EXPECT_EQ(without, tiles.d) << name_of(inst);
  }
}

TEST(Emulate, NoTilesWriteNothing) {
  const Instruction inst = instruction_of("mma.m16n8k16.f32.f16.f16.f32");
  emulate(inst, hopper_row(inst), {});
}

// The columns of a wgmma do not know how many there are.
TEST(Emulate, WideAndNarrowWgmmaAgree) {
  Bits random;
  Instruction wide = instruction_of("wgmma.m64n256k16.f32.bf16.bf16");
  Tiles tiles = random_tiles(wide, 1, random);
  emulate(wide, hopper_row(wide),
          {1, tiles.a.data(), tiles.b.data(), tiles.c.data(), tiles.d.data(), nullptr});
  Instruction narrow = wide;
  narrow.n = 8;
  for (std::size_t first = 0; first < 256; first += 88) {
    Tiles part = random_tiles(narrow, 1, random);
    part.a = tiles.a;
    for (std::size_t k = 0; k < 16; ++k) std::copy_n(&tiles.b[(k * 256 + first) * 2], 16, &part.b[k * 16]);
    for (std::size_t i = 0; i < 64; ++i) std::copy_n(&tiles.c[(i * 256 + first) * 4], 32, &part.c[i * 32]);
    emulate(narrow, hopper_row(narrow),
            {1, part.a.data(), part.b.data(), part.c.data(), part.d.data(), nullptr});
    for (std::size_t i = 0; i < 64; ++i)
      ASSERT_EQ(std::memcmp(&tiles.d[(i * 256 + first) * 4], &part.d[i * 32], 32), 0);
  }
}

// The model is constexpr: one dot product evaluated by the compiler.
constexpr std::uint64_t one_at_compile_time() {
  const Instruction inst{Op::mma, 16, 8, 8, Format::f32, Format::f16, Format::f16, Format::f32};
  const std::uint16_t a[8] = {0x3C00, 0x4000}, b[8] = {0x3C00, 0x4200};
  return dot(make_dot_spec(inst, Datapath{}), Strided<std::uint16_t>{a}, Strided<std::uint16_t>{b},
             0x3F800000, 0);
}
static_assert(one_at_compile_time() == 0x41000000);  // 1 + 2*3 + 1

}  // namespace
}  // namespace mmaudit::test
