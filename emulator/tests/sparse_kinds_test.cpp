// mma.sp with a kind: dense instructions over the stored elements, with metadata and scales that both agree
// about. No GPU here runs them; what is checked is that the model is consistent with what the PTX ISA says
// they mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "mmaudit/explain.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/sparse_pack.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/tile_batch.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

const Architecture& rtx() { return *find_architecture("blackwell_rtx"); }

std::vector<Instruction> sparse_kinds() {
  std::vector<Instruction> out;
  for (const Instruction& inst : kInstructions)
    if (inst.op == Op::mma_sp && inst.kind != MmaKind::none) out.push_back(inst);
  return out;
}

/// The dense instruction of as many products per element of D.
Instruction dense_of(const Instruction& sparse) {
  for (const Instruction& inst : kInstructions)
    if (inst.op == Op::mma && inst.kind == sparse.kind && inst.k == sparse.stored_k() && inst.a == sparse.a &&
        inst.b == sparse.b && inst.d == sparse.d && inst.scale == sparse.scale &&
        scales_of(inst) == scales_of(sparse))
      return inst;
  throw std::invalid_argument("no dense " + name_of(sparse));
}

const Datapath& model_of(const Instruction& inst) { return find_datapath(rtx(), inst)->datapath; }

std::uint8_t below(std::uint64_t& random, int bits) {
  return static_cast<std::uint8_t>(splitmix64(random) & ((1U << bits) - 1));
}

/// One tile of random bits; scales near 1, of all sizes in every second tile.
TileBatch random_tile(const Instruction& inst, std::uint64_t seed) {
  TileBatch tile(inst, 1);
  const Sparsity sparsity = sparsity_of(inst);
  std::uint64_t random = seed;
  for (auto [elements, format] : {std::pair{&tile.a, inst.a}, {&tile.b, inst.b}})
    for (std::byte& x : *elements) x = static_cast<std::byte>(below(random, spec_of(format).value_bits()));
  const FormatSpec c = spec_of(inst.c);
  for (std::size_t i = 0; i < tile.c.size() / c.storage_bytes(); ++i)
    store_word(tile.c.data(), c.storage_bytes(), i,
               encode_nearest_even(static_cast<double>(below(random, 8)) - 128, c));
  for (auto* scales : {&tile.scale_a, &tile.scale_b})
    for (std::uint8_t& x : *scales)
      x = seed % 2 == 0 ? below(random, 8)
                        : static_cast<std::uint8_t>(one_bits(spec_of(inst.scale)) + below(random, 3));
  for (std::size_t i = 0; i < tile.metadata.size(); i += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, static_cast<int>(splitmix64(random) % static_cast<unsigned>(patterns(sparsity))),
                  &tile.metadata[i]);
  return tile;
}

TEST(SparseKinds, EveryOneIsListedForComputeCapability12) {
  const std::vector<Instruction> all = sparse_kinds();
  EXPECT_EQ(all.size(), 50U + 25U + 3U);
  std::set<std::string> names;
  for (const Instruction& inst : all) {
    names.insert(name_of(inst));
    const auto again = find_instruction(name_of(inst));
    ASSERT_TRUE(again) << name_of(inst);
    EXPECT_EQ(*again, inst);
    EXPECT_EQ(inst.min_compute_capability, 120);
    for (const Architecture& each : architectures())
      EXPECT_EQ(find_datapath(each, inst) != nullptr, each.name == "blackwell_rtx") << each.name;
    EXPECT_EQ(model_of(inst), model_of(dense_of(inst))) << name_of(inst);
    EXPECT_EQ(find_datapath(rtx(), inst)->evidence, Evidence::literature);
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_TRUE(names.count("mma.sp.m16n8k64.kind_f8f6f4.f16.e3m2.e2m1.f16") == 1);
  EXPECT_TRUE(names.count("mma.sp.m16n8k64.kind_mxf8f6f4.scale_vec_1X.f32.e5m2.e2m3.f32.ue8m0") == 1);
  EXPECT_TRUE(names.count("mma.sp.m16n8k128.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0") == 1);
  EXPECT_TRUE(names.count("mma.sp.m16n8k128.kind_mxf4nvf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0") == 1);
  EXPECT_TRUE(names.count("mma.sp.m16n8k128.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3") == 1);
}

// PTX ISA 9.0, "Sparse matrix storage": 2:4, and pair-wise 4:8 of e2m1 with the kinds that pack it.
TEST(SparseKinds, GroupsAndScalesAreThoseOfTheIsa) {
  for (const Instruction& inst : sparse_kinds()) {
    const bool packed = inst.kind == MmaKind::mxf4 || inst.kind == MmaKind::mxf4nvf4;
    EXPECT_EQ(sparsity_of(inst), packed ? (Sparsity{4, 8, 2}) : (Sparsity{2, 4, 1})) << name_of(inst);
    EXPECT_EQ(metadata_layout(inst).selectors(), 1) << name_of(inst);
    EXPECT_EQ(inst.k, packed ? 128 : 64);
    if (inst.scale == Format::none) continue;
    EXPECT_EQ(inst.scale_block, inst.scale == Format::ue4m3 ? 32 : 64) << name_of(inst);
    EXPECT_EQ(products_per_scale(inst), dense_of(inst).scale_block) << name_of(inst);
  }
}

// Row by row, since every row of A meets other elements of B: the dense instruction over what is stored.
TEST(SparseKinds, EveryRowIsTheDenseInstructionOverTheStored) {
  for (const Instruction& inst : sparse_kinds()) {
    const Instruction dense = dense_of(inst);
    const TileExtents shape(inst);
    const std::size_t d_bytes = spec_of(inst.d).storage_bytes();
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      TileBatch tile = random_tile(inst, seed);
      emulate(inst, model_of(inst), tile.view());
      for (std::size_t i = 0; i < shape.m; ++i) {
        TileBatch row(dense, 1);
        row.a = tile.a, row.c = tile.c, row.scale_a = tile.scale_a, row.scale_b = tile.scale_b;
        for (std::size_t k = 0; k < shape.stored; ++k) {
          const Sparsity sparsity = sparsity_of(inst);
          const std::size_t group = k / static_cast<std::size_t>(sparsity.kept),
                            met = group * static_cast<std::size_t>(sparsity.group) +
                                  tile.metadata[i * shape.stored + k];
          for (std::size_t j = 0; j < shape.n; ++j) row.b[k * shape.n + j] = tile.b[met * shape.n + j];
        }
        emulate(dense, model_of(dense), row.view());
        for (std::size_t j = 0; j < shape.n; ++j) {
          const std::size_t e = i * shape.n + j;
          ASSERT_EQ(load_word(tile.d.data(), d_bytes, e), load_word(row.d.data(), d_bytes, e))
              << name_of(inst) << " seed " << seed << " (" << i << ", " << j << ")";
          const DotCase dot = dot_at(inst, tile.filled(), 0, static_cast<int>(i), static_cast<int>(j));
          ASSERT_EQ(explain(inst, model_of(inst), dot).result, load_word(tile.d.data(), d_bytes, e));
        }
      }
    }
  }
}

/// The scale of the block of k, in rows of `blocks`.
std::uint8_t scale_of(const std::vector<std::uint8_t>& scales, std::size_t k, int block) {
  return scales[k / static_cast<std::size_t>(block)];
}

// Where nothing is cut off, A may be spelled out: the product of the whole row by the dense instruction. Each
// scale of the sparse one belongs to the same elements of k as two of the dense ones.
TEST(SparseKinds, IsTheProductOfTheExpandedA) {
  for (const Instruction& inst : sparse_kinds()) {
    const Instruction dense = dense_of(inst);
    const TileExtents shape(inst);
    TileBatch tile = random_tile(inst, 7);
    const auto near_one = [](std::vector<std::byte>& elements, Format format) {  // +-1, +-0
      const std::uint64_t one = one_bits(spec_of(format));
      for (std::byte& x : elements)
        x = static_cast<std::byte>((std::to_integer<std::uint64_t>(x) & 1U) * one |
                                   (std::to_integer<std::uint64_t>(x) & spec_of(format).sign_bit()));
    };
    near_one(tile.a, inst.a);
    near_one(tile.b, inst.b);
    emulate(inst, model_of(inst), tile.view());
    const auto expanded = expand_sparse(sparsity_of(inst), spec_of(inst.a), tile.a.data(),
                                        tile.metadata.data(), shape.m, shape.k);
    std::vector<std::uint8_t> scale_a, scale_b;
    for (std::size_t i = 0; i < shape.m && shape.blocks != 0; ++i)
      for (std::size_t k = 0; k < shape.k; k += static_cast<std::size_t>(dense.scale_block))
        scale_a.push_back(
            scale_of({tile.scale_a.begin() + static_cast<std::ptrdiff_t>(i * shape.blocks),
                      tile.scale_a.begin() + static_cast<std::ptrdiff_t>((i + 1) * shape.blocks)},
                     k, inst.scale_block));
    for (std::size_t k = 0; k < shape.k && shape.blocks != 0;
         k += static_cast<std::size_t>(dense.scale_block))
      for (std::size_t j = 0; j < shape.n; ++j)
        scale_b.push_back(tile.scale_b[k / static_cast<std::size_t>(inst.scale_block) * shape.n + j]);
    std::vector<std::byte> d(tile.d.size());
    Matmul problem;
    problem.m = shape.m, problem.n = shape.n, problem.k = shape.k;
    problem.a = expanded.data(), problem.b = tile.b.data(), problem.c = tile.c.data(), problem.d = d.data();
    if (!scale_a.empty()) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
    matmul(dense, model_of(dense), problem);
    EXPECT_EQ(d, tile.d) << name_of(inst);
  }
}

// Two and a half instructions of K, with the library's product, one after another and with scales of their
// own.
TEST(SparseKinds, MatmulChainsInstructions) {
  for (const Instruction& inst : sparse_kinds()) {
    const TileExtents shape(inst);
    const std::size_t steps = 3, depth = 5 * shape.k / 2, stored = depth / 2;
    const std::size_t blocks = shape.blocks == 0 ? 0
                                                 : (depth + static_cast<std::size_t>(inst.scale_block) - 1) /
                                                       static_cast<std::size_t>(inst.scale_block);
    std::vector<std::byte> a(shape.m * stored), b(depth * shape.n),
        d(shape.m * shape.n * spec_of(inst.d).storage_bytes());
    std::vector<std::uint8_t> metadata(a.size()), scale_a(shape.m * blocks), scale_b(blocks * shape.n);
    std::vector<std::byte> running(d.size());
    for (std::size_t s = 0; s < steps; ++s) {
      TileBatch tile = random_tile(inst, 20 + s);
      tile.c = running;
      const std::size_t here = std::min(shape.k, depth - s * shape.k), first = s * shape.stored;
      for (std::size_t i = 0; i < shape.m; ++i)
        for (std::size_t k = 0; k < shape.stored; ++k) {
          const std::size_t e = i * shape.stored + k;
          if (k < here / 2) {
            a[i * stored + first + k] = tile.a[e];
            metadata[i * stored + first + k] = tile.metadata[e];
          } else {
            tile.a[e] = std::byte{0};
          }
        }
      for (std::size_t k = 0; k < shape.k; ++k)
        for (std::size_t j = 0; j < shape.n; ++j) {
          if (k < here)
            b[(s * shape.k + k) * shape.n + j] = tile.b[k * shape.n + j];
          else
            tile.b[k * shape.n + j] = std::byte{0};
        }
      for (std::size_t block = 0; block < shape.blocks; ++block) {
        const std::size_t to = s * shape.blocks + block;
        for (std::size_t i = 0; i < shape.m; ++i) {
          std::uint8_t& scale = tile.scale_a[i * shape.blocks + block];
          if (to < blocks)
            scale_a[i * blocks + to] = scale;
          else
            scale = static_cast<std::uint8_t>(one_bits(spec_of(inst.scale)));
        }
        for (std::size_t j = 0; j < shape.n; ++j) {
          std::uint8_t& scale = tile.scale_b[block * shape.n + j];
          if (to < blocks)
            scale_b[to * shape.n + j] = scale;
          else
            scale = static_cast<std::uint8_t>(one_bits(spec_of(inst.scale)));
        }
      }
      emulate(inst, model_of(inst), tile.view());
      running = tile.d;
    }
    Matmul problem;
    problem.m = shape.m, problem.n = shape.n, problem.k = depth;
    problem.a = a.data(), problem.b = b.data(), problem.d = d.data(), problem.metadata = metadata.data();
    if (blocks != 0) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
    ASSERT_EQ(why_no_matmul(inst, model_of(inst), problem), "");
    for (const bool fast : {false, true}) {
      MatmulOptions options;
      options.fast = fast;
      matmul(inst, model_of(inst), problem, options);
      EXPECT_EQ(d, running) << name_of(inst) << (fast ? " fast" : " plain");
    }
  }
}

/// Products of stored elements, where every group keeps its first ones; scales of block 1 together 2^scale.
struct Product {
  std::size_t stored;
  double a, b;
};
std::uint64_t dot_of(const char* name, double c, const std::vector<Product>& products, int scale,
                     const Datapath& model) {
  const Instruction inst = instruction_of(name);
  const Sparsity sparsity = sparsity_of(inst);
  DotCase dot;
  dot.a.resize(static_cast<std::size_t>(inst.stored_k()));
  dot.b.resize(static_cast<std::size_t>(inst.k));
  dot.c = bits_of(c, inst.c);
  dot.metadata.resize(dot.a.size());
  for (std::size_t k = 0; k < dot.a.size(); k += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, 0, &dot.metadata[k]);
  for (const Product& one : products) {
    dot.a.at(one.stored) = bits_of(one.a, inst.a);
    const int met =
        selected_k(sparsity, MetadataRule::selected, dot.metadata.data(), static_cast<int>(one.stored));
    dot.b.at(static_cast<std::size_t>(met)) = bits_of(one.b, inst.b);
  }
  if (inst.scale != Format::none) {
    dot.scale_a.assign(static_cast<std::size_t>(scales_of(inst)), 127);
    dot.scale_b = dot.scale_a;
    dot.scale_a.at(1) = static_cast<std::uint8_t>(127 + scale);
  }
  return explain(inst, model, dot).result;
}

// The hypothesis, and the inputs that would decide it: docs/numerics-architectures.md.
TEST(SparseKinds, StepsAndGroupsCountStoredElements) {
  constexpr const char* kMx4 = "mma.sp.m16n8k128.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0";
  constexpr const char* kF8 = "mma.sp.m16n8k64.kind_f8f6f4.f32.e4m3.e4m3.f32";
  const std::vector<Product> halves = {{0, 0.5, 0.5}, {32, 0.5, 0.5}, {40, 0.5, 0.5}};
  Datapath model = model_of(instruction_of(kMx4));
  EXPECT_EQ(dot_of(kMx4, -0.25, halves, -34, model), 0x2E000000U);
  model.group = 8;
  EXPECT_EQ(dot_of(kMx4, -0.25, halves, -34, model), 0U);
  const std::vector<Product> far = {{0, 256, 256}, {1, -256, 256}, {16, 0x1p-9, 0x1p-6}};
  model = model_of(instruction_of(kF8));
  EXPECT_EQ(dot_of(kF8, 0, far, 0, model), 0U);
  model.products_per_step = 16;
  EXPECT_EQ(dot_of(kF8, 0, far, 0, model), 0x38000000U);
}

}  // namespace
}  // namespace mmaudit::test
