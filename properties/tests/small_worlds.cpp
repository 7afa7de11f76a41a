#include "small_worlds.hpp"

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::gen {
namespace {

using Patterns = std::vector<std::uint64_t>;

std::uint64_t power(std::uint64_t base, std::size_t exponent) {
  std::uint64_t out = 1;
  while (exponent-- > 0) out *= base;
  return out;
}

/// Takes the lowest digit of `number` in this base.
std::uint64_t digit(std::uint64_t& number, std::uint64_t base) {
  const std::uint64_t out = number % base;
  number /= base;
  return out;
}

std::size_t groups_of(const SmallWorld& world) {
  return is_sparse(world.instruction.op)
             ? static_cast<std::size_t>(world.instruction.k / sparsity_of(world.instruction).group)
             : 0;
}

std::size_t blocks_of(const SmallWorld& world) {
  return static_cast<std::size_t>(scales_of(world.instruction));
}

std::uint64_t lanes(const SmallWorld& world, const Patterns& elements, const std::vector<int>& places) {
  return power(elements.size(), places.size()) * power(world.scales.size(), blocks_of(world));
}

/// One row of A or column of B.
struct Members {
  std::vector<std::uint64_t> elements;
  std::vector<std::uint8_t> scales, metadata;  ///< metadata: of a row of a sparse A
};

/// Elements and scales of a lane of `depth` elements; what is left of the number.
Members lane_of(const SmallWorld& world, const Patterns& patterns, const std::vector<int>& places, int depth,
                std::uint64_t& number) {
  Members lane;
  lane.elements.assign(static_cast<std::size_t>(depth), 0);
  for (const int place : places)
    lane.elements[static_cast<std::size_t>(place)] = patterns[digit(number, patterns.size())];
  for (std::size_t block = 0; block < blocks_of(world); ++block)
    lane.scales.push_back(world.scales[digit(number, world.scales.size())]);
  return lane;
}

Patterns every_pattern(Format format, unsigned step = 1) {
  Patterns out;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << spec_of(format).value_bits(); bits += step)
    out.push_back(bits);
  return out;
}

/// Numbers of `format` with every `step`-th of these exponents and `kept` fraction bits, both signs, and what
/// has no such exponent: zeros, infinities, a NaN, the least and the largest number.
Patterns addends(Format format, int kept, int lowest, int highest, int step = 1) {
  const FormatSpec spec = spec_of(format);
  const std::uint64_t sign = spec.sign_bit();
  Patterns out = {0, 1, spec.infinity_bits(), spec.infinity_bits() | 1, spec.max_finite_bits()};
  for (int exponent = lowest; exponent <= highest; exponent += step)
    for (std::uint64_t fraction = 0; fraction < std::uint64_t{1} << kept; ++fraction)
      out.push_back(static_cast<std::uint64_t>(exponent + spec.bias) << spec.fraction_bits |
                    fraction << (spec.fraction_bits - kept));
  for (std::size_t i = 0, size = out.size(); i < size; ++i) out.push_back(out[i] | sign);
  return out;
}

Instruction toy(Format element, int k, Format sums, Op op = Op::mma) {
  Instruction out;
  out.op = op;
  out.m = 16, out.n = 8, out.k = static_cast<std::int16_t>(k);
  out.a = out.b = element;
  out.c = out.d = sums;
  return out;
}

/// Steps of `products` of k = 4, cut at F = 4 and a floor that acts, sums of 1 + 8 + 3 bits.
Datapath cut(int products) {
  Datapath out;
  out.products_per_step = static_cast<std::int16_t>(products);
  out.fraction_bits = 4;
  out.min_alignment_exponent = 1;
  out.output.fraction_bits = 3;
  return out;
}

Instruction scaled(Instruction inst, Format scale, int block) {
  inst.kind = scale == Format::ue4m3 ? MmaKind::mxf4nvf4 : MmaKind::mxf8f6f4;
  inst.scale = scale;
  inst.scale_block = static_cast<std::int16_t>(block);
  return inst;
}

/// Rows of A beside one c.
std::uint64_t lanes_of_a(const SmallWorld& world) {
  const auto patterns_of_group = static_cast<std::uint64_t>(patterns(sparsity_of(world.instruction)));
  return lanes(world, world.a, world.at_a) * power(patterns_of_group, groups_of(world));
}

Members row_of(const SmallWorld& world, std::uint64_t number) {
  Members lane = lane_of(world, world.a, world.at_a, world.instruction.stored_k(), number);
  const Sparsity sparsity = sparsity_of(world.instruction);
  for (std::size_t group = 0; group < groups_of(world); ++group) {
    std::uint8_t positions[kMostKept] = {};
    const auto count = static_cast<std::uint64_t>(patterns(sparsity));
    write_pattern(sparsity, static_cast<int>(digit(number, count)), positions);
    lane.metadata.insert(lane.metadata.end(), positions, positions + sparsity.kept);
  }
  return lane;
}

Members column_of(const SmallWorld& world, std::uint64_t number) {
  return lane_of(world, world.b, world.at_b, world.instruction.k, number);
}

}  // namespace

std::uint64_t rows_of(const SmallWorld& world) { return lanes_of_a(world) * world.c.size(); }

std::uint64_t columns_of(const SmallWorld& world) { return lanes(world, world.b, world.at_b); }

DotCase dot_of(const SmallWorld& world, std::uint64_t row, std::uint64_t column) {
  const std::uint64_t each = lanes_of_a(world);
  Members a = row_of(world, row % each), b = column_of(world, column);
  DotCase dot;
  dot.a = std::move(a.elements), dot.b = std::move(b.elements), dot.c = world.c[row / each];
  dot.metadata = std::move(a.metadata), dot.scale_a = std::move(a.scales), dot.scale_b = std::move(b.scales);
  return dot;
}

SmallProduct::SmallProduct(const SmallWorld& world) {
  const Instruction& inst = world.instruction;
  const auto k = static_cast<std::uint64_t>(inst.k), stored = static_cast<std::uint64_t>(inst.stored_k()),
             blocks = static_cast<std::uint64_t>(blocks_of(world)), each = lanes_of_a(world);
  problem.m = rows_of(world), problem.n = columns_of(world), problem.k = k;
  const auto bytes = [](Format format) { return spec_of(format).storage_bytes(); };
  a.resize(problem.m * stored * bytes(inst.a));
  b.resize(k * problem.n * bytes(inst.b));
  c.resize(problem.m * problem.n * bytes(inst.c));
  d.resize(c.size());
  scale_b.resize(blocks * problem.n);
  for (std::uint64_t i = 0; i < problem.m; ++i) {
    const Members row = row_of(world, i % each);
    for (std::uint64_t p = 0; p < stored; ++p)
      store_word(a.data(), bytes(inst.a), i * stored + p, row.elements[p]);
    for (std::uint64_t j = 0; j < problem.n; ++j)
      store_word(c.data(), bytes(inst.c), i * problem.n + j, world.c[i / each]);
    scale_a.insert(scale_a.end(), row.scales.begin(), row.scales.end());
    metadata.insert(metadata.end(), row.metadata.begin(), row.metadata.end());
  }
  for (std::uint64_t j = 0; j < problem.n; ++j) {
    const Members column = column_of(world, j);
    for (std::uint64_t p = 0; p < k; ++p)
      store_word(b.data(), bytes(inst.b), p * problem.n + j, column.elements[p]);
    for (std::uint64_t block = 0; block < blocks; ++block)
      scale_b[block * problem.n + j] = column.scales[block];
  }
  problem.a = a.data(), problem.b = b.data(), problem.c = c.data(), problem.d = d.data();
  if (blocks != 0) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
  if (!metadata.empty()) problem.metadata = metadata.data();
}

std::vector<SmallWorld> small_worlds(bool large) {
  using enum Format;
  const Patterns four_bits = every_pattern(e2m1), few = {0x0, 0x9, 0x3, 0x7};
  const Patterns some = large ? four_bits : Patterns{0x0, 0x1, 0xA, 0x3, 0xD, 0x7};
  const Patterns cs = addends(f32, large ? 2 : 0, -4, 12, large ? 1 : 2);
  using Places = std::vector<int>;
  const Places two = {0, 2}, all = {0, 1, 2, 3};
  std::vector<SmallWorld> out;
  const auto add = [&](std::string name, const Instruction& inst, const Datapath& datapath, const Patterns& a,
                       const Patterns& b, const Patterns& c, const Places& at,
                       std::vector<std::uint8_t> scales = {}) {
    out.push_back({std::move(name), inst, datapath, a, b, c, at, at, std::move(scales)});
  };
  add("one step", toy(e2m1, 4, f32), cut(4), some, some, cs, two);
  const Patterns fewest = {0x0, 0x9, 0x7};
  add("two steps", toy(e2m1, 4, f32), cut(2), large ? few : fewest, large ? few : fewest,
      large ? cs : Patterns{0x80000000, 0x3F800000, 0xC0A00000, 0x41800000}, all);
  // Subnormals, infinities and NaNs.
  const Patterns e5m2s = every_pattern(e5m2, large ? 1 : 7), e4m3s = every_pattern(e4m3, large ? 1 : 7);
  add("infinities", toy(e5m2, 4, f32), cut(4), e5m2s, e5m2s,
      addends(f32, large ? 2 : 0, -12, 14, large ? 1 : 5), {1});
  add("NaNs", toy(e4m3, 4, f32), cut(4), e4m3s, e4m3s, addends(f32, large ? 2 : 0, -10, 12, large ? 1 : 5),
      {3});
  // Both ends of binary32, and bits that the format ignores.
  const Patterns wide = {0x0000, 0x0001, 0x8080, 0x3F80, 0xBFC0, 0x7F7F, 0xFF7F, 0x7F80, 0xFFC1, 0x1FA0};
  Datapath ends = cut(4);
  ends.min_alignment_exponent = -133;
  ends.output.fraction_bits = 23;
  add("both ends", toy(bf16, 4, f32), ends, wide, wide,
      {0x80000000, 0x00000001, 0x807C0000, 0x7F7FFFFF, 0x7F800000, 0xFF800001}, two);
  Patterns ignored;
  for (const std::uint64_t bits : wide) ignored.push_back(bits << 16 | 0x1001);
  add("ignored bits", toy(tf32, 4, f32), cut(4), ignored, ignored, {0, 0x80000000, 0x40C00000}, two);
  Datapath widened = cut(4);
  widened.widen_to = f16;
  widened.addend = AddendPlace::after_last_nearest;
  widened.output.fraction_bits = 5;
  Datapath half = cut(4);
  half.fraction_bits = 12;
  half.min_alignment_exponent = -10;
  half.output = {f16, 10, Rounding::nearest_even};
  const Patterns halves =
      large ? every_pattern(e5m2, 17) : Patterns{0x00, 0x83, 0x3D, 0x21, 0x7B, 0x7C, 0x7D};
  add("widened", toy(e5m2, 4, f32), widened, halves, halves, cs, two);
  add("binary16 sums", toy(e5m2, 4, f16), half, halves, halves,
      addends(f16, large ? 3 : 0, -14, 15, large ? 1 : 4), two);
  // 2^-2, 1, 2^3 and NaN; zero, the least number, 1 with a bit that is not read, the largest and NaN.
  const std::vector<std::uint8_t> powers = {125, 127, 130, 255}, fractions = {0x00, 0x01, 0xB8, 0x7E, 0x7F},
                                  close = {0x00, 0xB8, 0x41, 0x7F};
  add("scaled products", scaled(toy(e2m1, 4, f32), ue8m0, 4), cut(4), large ? four_bits : few,
      large ? four_bits : few, large ? addends(f32, 0, -4, 12) : addends(f32, 0, -2, 6, 4), two, powers);
  const Patterns group_a = {0x0, 0xB, 0x3}, group_b = {0x3, 0xE};  // some cancel
  const Instruction grouped = scaled(toy(e2m1, 4, f32), ue4m3, 2);
  Datapath groups = cut(4);
  groups.arithmetic = Arithmetic::grouped_dot_add;
  groups.group = 2;
  groups.min_alignment_exponent = -20;
  groups.output.fraction_bits = 10;
  add("scaled groups", grouped, groups, group_a, group_b,
      large ? addends(f32, 0, -12, 20) : Patterns{0x41800000, 0x3EC00000, 0x3AC00000, 0x34F80000}, {0, 1},
      fractions);
  // What the fast paths for groups serve: sums that alignment seldom cuts.
  groups.fraction_bits = 35;
  groups.min_alignment_exponent = -133;
  groups.output.fraction_bits = 23;
  add("exact groups", grouped, groups, group_a, group_b,
      large ? addends(f32, 0, -50, 50) : Patterns{0x3F800001, 0x39000001, 0x00800001}, {0, 1}, close);
  if (large) {
    groups.group = 16;
    groups.products_per_step = 64;
    add("groups of 16", scaled(toy(e2m1, 64, f32), ue4m3, 16), groups, group_a, group_b,
        addends(f32, 0, -40, 40, 2), {3, 18}, {0x34, 0x38, 0x41});
  }
  const Patterns stored = large ? halves : Patterns{0x00, 0x3D, 0xC2, 0x46}, met = {0x00, 0x3E, 0xC5, 0x7C};
  add("metadata", toy(e5m2, 4, f32, Op::mma_sp), cut(2), stored, met,
      large ? addends(f32, 1, -4, 12) : Patterns{0, 0xC1200000}, {0, 1});
  out.back().at_b = large ? all : Places{0, 1, 3};
  if (large) return out;
  // What no fast path serves.
  for (const Format integer : {s4, u4, b1}) {
    Instruction inst = toy(integer, 4, s32);
    inst.satfinite = integer == s4;
    if (integer == b1) inst.multiply = Multiply::xor_popc;
    Datapath exact;
    exact.arithmetic = Arithmetic::integer;
    exact.products_per_step = 2;
    const Patterns every = every_pattern(integer, integer == b1 ? 1 : 3);
    add("integers " + std::string(name_of(integer)), inst, exact, every, every,
        {0, 0x7FFFFFFF, 0x7FFFFFF0, 0x80000000, 0x80000010, 0xFFFFFFFF}, {0, 3});
  }
  Datapath fma;
  fma.arithmetic = Arithmetic::fma_chain;
  fma.output = {f64, 52, Rounding::nearest_even};
  fma.output.nan = NanRule::ieee_quiet;
  const Patterns doubles = {0,
                            0x8000000000000000,
                            0x8000000000000001,
                            0x3FF0000000000001,
                            0xBFF8000000000000,
                            0x7FEFFFFFFFFFFFFF,
                            0x7FF0000000000000,
                            0xFFF8000000000123,
                            0x7FF0000000000001};
  add("binary64", toy(f64, 2, f64), fma, doubles, doubles, doubles, {0, 1});
  return out;
}

}  // namespace mmaudit::gen
