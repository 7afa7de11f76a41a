// The kernel that records a tcgen05.mma, run by the machine: D must have the bits of emulate(). The same text
// is what ptxas assembles (device_assembles_tile_kernels) and a driver loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/tensor_memory/machine.hpp"
#include "mmaudit/tensor_memory/tile_kernel.hpp"

namespace mmaudit::tmem {
namespace {

const Architecture& blackwell() { return *find_architecture("blackwell"); }

/// The dense instruction of the model's table, which has the datapath of a sparse one too.
const Datapath& datapath_of(Instruction inst) {
  if (is_sparse(inst.op)) inst.k = static_cast<std::int16_t>(inst.k / 2);
  inst.op = Op::tcgen05;
  return find_datapath(blackwell(), inst)->datapath;
}

Instruction sparse_form(Instruction dense) {
  dense.op = Op::mma_sp;
  dense.k = static_cast<std::int16_t>(2 * dense.k);
  return dense;
}

constexpr std::uint64_t kImages = 0x7F0000000000, kAddends = 0x7F1000000000, kResults = 0x7F2000000000;

Fill fill_of(Fill::Role role, std::uint64_t place, Format format, std::size_t tiles, std::size_t elements) {
  Fill fill;
  fill.role = role;
  fill.place = place;
  fill.format = format;
  fill.rows = static_cast<int>(tiles);
  fill.columns = static_cast<int>(elements);
  return fill;
}

/// D of block `block` of a launch over the whole batch, in its place of batch.d; or why it did not run. The
/// kernel's variable lies behind another one, and all of shared memory holds random bits.
std::string run_block(const TileKernel& kernel, const std::string& text, const TileView& batch,
                      std::size_t block) {
  PtxProgram program;
  std::string moved = text;
  moved.insert(moved.find("  .shared"), "  .shared .align 16 .b8 before[5000];\n");
  if (std::string reason = parse_ptx(moved, program); !reason.empty()) return reason;
  Fill noise = fill_of(Fill::Role::words, 0, Format::u8, 1, 65536);
  noise.source = "random";
  noise.argument = "noise";
  Fill images = fill_of(Fill::Role::input, kImages, Format::u8, batch.tiles, kernel.image_bytes),
       addends = fill_of(Fill::Role::input, kAddends, Format::s32, batch.tiles, kernel.words());
  std::vector<std::uint8_t> image(kernel.image_bytes);
  std::vector<std::uint32_t> words(kernel.words());
  for (std::size_t tile = 0; tile < batch.tiles; ++tile) {
    write_image(kernel, batch, tile, image);
    write_addends(kernel, batch, tile, words);
    images.elements.insert(images.elements.end(), image.begin(), image.end());
    addends.elements.insert(addends.elements.end(), words.begin(), words.end());
  }
  program.fills = {noise, images, addends,
                   fill_of(Fill::Role::output, kResults, Format::s32, batch.tiles, kernel.words())};
  program.parameters = {{"images", kImages}, {"addends", kAddends}, {"results", kResults}};
  program.block = static_cast<std::uint32_t>(block);
  Machine machine(program, blackwell());
  if (std::string reason = machine.run(); !reason.empty()) return reason;
  if (machine.not_stored(3) != kernel.words() * (batch.tiles - 1)) return "another number of stored elements";
  const std::vector<std::uint64_t> all = machine.output(3);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::uint32_t>(all[block * words.size() + i]);
  read_results(kernel, words, batch, block);
  return {};
}

/// How many elements of D that the kernel and emulate() give differ; or why it did not run.
struct Outcome {
  std::string reason;
  std::size_t different = 0;
};

Outcome compare(const TileKernel& kernel, const std::string& text, TileBatch& batch) {
  Outcome outcome;
  TileView view = batch.view();
  emulate(batch.instruction, datapath_of(batch.instruction), view);
  const std::vector<std::byte> wanted = batch.d;
  view = batch.view();
  for (std::size_t block = 0; block < batch.tiles && outcome.reason.empty(); ++block)
    outcome.reason = run_block(kernel, text, view, block);
  const std::size_t bytes = spec_of(batch.instruction.d).storage_bytes();
  for (std::size_t i = 0; i < wanted.size() / bytes; ++i)
    outcome.different += load_bits(wanted, bytes, i) != load_bits(batch.d, bytes, i) ? 1U : 0U;
  return outcome;
}

TileBatch tiles_of(const Instruction& inst, gen::InputClass input_class, std::uint64_t seed,
                   std::size_t count, std::uint8_t modifiers) {
  TileBatch batch(inst);
  gen::append_class(batch, gen::make_generator_plan(inst, datapath_of(inst)), input_class, seed, 0, count,
                    modifiers);
  return batch;
}

/// What the tiles of all kinds together must have held.
struct Seen {
  std::size_t nan_scales = 0, minus_zeros_of_c = 0, other_addends = 0, nan_elements = 0;

  void count(const TileBatch& batch) {
    const Instruction& inst = batch.instruction;
    const FormatSpec c = spec_of(inst.c), a = spec_of(inst.a), scale = spec_of(inst.scale);
    for (const std::uint8_t byte : batch.scale_a) nan_scales += is_nan(scale, byte);
    for (std::size_t i = 0; i < batch.c.size() / c.storage_bytes(); ++i) {
      const std::uint64_t bits = load_bits(batch.c, c.storage_bytes(), i);
      minus_zeros_of_c += !c.integer() && bits == c.sign_bit() ? 1U : 0U;
      other_addends += (bits & c.magnitude_mask()) != 0 ? 1U : 0U;
    }
    for (std::size_t i = 0; i < batch.a.size() / a.storage_bytes(); ++i)
      nan_elements += is_nan(a, load_bits(batch.a, a.storage_bytes(), i));
  }
  static std::size_t is_nan(const FormatSpec& format, std::uint64_t bits) {
    if (format.id == Format::ue8m0) return bits == 0xFF ? 1 : 0;
    if (format.id == Format::ue4m3 || format.specials == Specials::nan_only)
      return (bits & 0x7F) == 0x7F ? 1 : 0;
    return format.specials == Specials::ieee && (bits & format.magnitude_mask()) > format.infinity_bits() ? 1
                                                                                                          : 0;
  }
};

/// Modifiers that an instruction has, one set per tile.
std::vector<std::uint8_t> modifiers_of(const Instruction& inst) {
  std::vector<std::uint8_t> sets = {0, kScaleDZero};
  if (inst.kind != MmaKind::i8)
    sets.insert(sets.end(), {kNegateA, kNegateB, kNegateA | kNegateB | kScaleDZero});
  for (const std::uint8_t set : {kTransposeA, kTransposeB})
    if (const Format format = set == kTransposeA ? inst.a : inst.b;
        spec_of(format).value_bits() >= 8 && spec_of(format).storage_bits < 32 && inst.n % 16 == 0)
      sets.push_back(set);
  return sets;
}

class EveryTileKernel : public ::testing::TestWithParam<MmaKind> {};

TEST_P(EveryTileKernel, GivesTheBitsOfEmulate) {
  constexpr std::int16_t kColumnsOfD[] = {8, 16, 24, 136};
  constexpr gen::InputClass kClasses[] = {gen::InputClass::random_bits,   gen::InputClass::special_values,
                                          gen::InputClass::narrow_window, gen::InputClass::mostly_zeros,
                                          gen::InputClass::cancellation,  gen::InputClass::wide_window};
  std::size_t turn = 0, kernels = 0;
  Seen seen;
  for (Instruction inst : instructions::kTcgen05) {
    if (inst.kind != GetParam()) continue;
    inst.m = 128;
    for (const bool sparse : {false, true}) {
      if (sparse && inst.scale != Format::none) continue;
      for (int round = 0; round < (GetParam() == MmaKind::f8f6f4 || GetParam() == MmaKind::mxf8f6f4 ? 1 : 6);
           ++round) {
        do inst.n = kColumnsOfD[turn++ % std::size(kColumnsOfD)];
        while (!has_shape(inst, inst.m, inst.n));
        const Instruction used = sparse ? sparse_form(inst) : inst;
        const std::vector<std::uint8_t> sets = modifiers_of(used);
        const std::uint8_t modifiers = sets[(turn + kernels) % sets.size()];
        TileKernel kernel;
        ASSERT_EQ(make_tile_kernel(used, modifiers, "sm_100a", kernel), "") << name_of(inst);
        TileBatch batch = tiles_of(used, kClasses[kernels++ % std::size(kClasses)], turn, 2, modifiers);
        seen.count(batch);
        const Outcome outcome = compare(kernel, kernel.text, batch);
        ASSERT_EQ(outcome.reason, "") << name_of(inst) << "\n" << kernel.text;
        ASSERT_EQ(outcome.different, 0U)
            << name_of(inst) << (sparse ? " sparse" : "") << " modifiers " << int{modifiers};
      }
    }
  }
  EXPECT_GE(kernels, 6U);
  EXPECT_GT(seen.other_addends, 0U);
  if (GetParam() != MmaKind::i8) {
    EXPECT_GT(seen.minus_zeros_of_c, 0U);
  }
  if (GetParam() >= MmaKind::mxf8f6f4) {
    EXPECT_GT(seen.nan_scales, 0U);
  }
  if (GetParam() == MmaKind::f16 || GetParam() == MmaKind::tf32 || GetParam() == MmaKind::f8f6f4) {
    EXPECT_GT(seen.nan_elements, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryTileKernel,
                         ::testing::Values(MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8,
                                           MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

/// One wrong number in the text of a kernel: D must differ, or the machine must refuse it.
struct Planted {
  const char* instruction;
  bool sparse;
  const char *from, *to;
};
constexpr const char* kF16 = "tcgen05.m128n16k16.kind_f16.f32.f16.f16";
constexpr const char* kMx = "tcgen05.m128n16k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e5m2.ue8m0";
constexpr Planted kPlanted[] = {
    {kF16, false, "%rd5, 0x401000080040;", "%rd5, 0x401000080048;"},       // another start of A
    {kF16, false, "%rd7, %rd5, 0x4010", "%rd7, %rd5, 0x4008"},             // another stride of B
    {kF16, false, "mov.b32 %r10, 0x8040010", "mov.b32 %r10, 0x8042010"},   // A negated
    {kF16, false, "mov.b32 %r10, 0x8040010", "mov.b32 %r10, 0x8040490"},   // bf16
    {kF16, false, "setp.eq.u32 %p3", "setp.ne.u32 %p3"},                   // C is not read
    {kF16, false, "mad.lo.u32 %r6, %r2, 128", "mad.lo.u32 %r6, %r2, 64"},  // another row
    {kF16, false, "32x32b.x8.b32 [%r8+8]", "32x32b.x8.b32 [%r8+0]"},       // C in other columns
    {kF16, false, "shl.b32 %r8, %r4, 21", "shl.b32 %r8, %r4, 20"},         // lanes of another warp
    {kMx, false, "mov.b32 %r10, 0x8840400", "mov.b32 %r10, 0x8840080"},    // formats exchanged
    {kMx, false, "[%r7+16], [%r7+20], %p3", "[%r7+20], [%r7+16], %p3"},    // scales exchanged
    {kMx, false, "warpx4 [%r7+20]", "warpx4 [%r7+16]"},                    // scales of B for A
    {kF16, true, "128x128b [%r7+16]", "128x128b [%r7+20]"},                // metadata elsewhere
};

TEST(TileKernel, OneWrongNumberShows) {
  for (const Planted& one : kPlanted) {
    Instruction inst = find_instruction(one.instruction).value();
    if (one.sparse) inst = sparse_form(inst);
    TileKernel kernel;
    ASSERT_EQ(make_tile_kernel(inst, 0, "sm_100a", kernel), "");
    TileBatch batch = tiles_of(inst, gen::InputClass::narrow_window, 7, 2, 0);
    std::string text = kernel.text;
    const std::size_t at = text.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.from << "\n" << text;
    text.replace(at, std::string_view(one.from).size(), one.to);
    const Outcome outcome = compare(kernel, text, batch);
    EXPECT_TRUE(!outcome.reason.empty() || outcome.different > 100) << one.to;
    EXPECT_EQ(compare(kernel, kernel.text, batch).different, 0U);
  }
}

TEST(TileKernel, TheLargestFits) {
  const Instruction inst =
      find_instruction("tcgen05.m128n256k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3").value();
  TileKernel kernel;
  ASSERT_EQ(make_tile_kernel(inst, 0, "sm_103a", kernel), "");
  EXPECT_EQ(kernel.columns, 512);
  TileBatch batch = tiles_of(inst, gen::InputClass::wide_window, 3, 1, 0);
  batch.scale_a[5] = 0xFF;
  const Outcome outcome = compare(kernel, kernel.text, batch);
  EXPECT_EQ(outcome.reason, "");
  EXPECT_EQ(outcome.different, 0U);
}

TEST(TileKernel, WithoutScalesOrAddendsTheyAreOneAndZero) {
  TileBatch batch = tiles_of(find_instruction(kMx).value(), gen::InputClass::narrow_window, 4, 1, 0);
  TileKernel kernel;
  ASSERT_EQ(make_tile_kernel(batch.instruction, 0, "sm_100a", kernel), "");
  TileView bare = batch.view();
  bare.scale_a = bare.scale_b = nullptr;
  bare.c = nullptr;
  emulate(batch.instruction, datapath_of(batch.instruction), bare);
  const std::vector<std::byte> wanted = batch.d;
  std::fill(batch.d.begin(), batch.d.end(), std::byte{0});
  ASSERT_EQ(run_block(kernel, kernel.text, bare, 0), "");
  EXPECT_EQ(batch.d, wanted);
}

TEST(TileKernel, RefusesWhatItCannotRun) {
  const auto refusal = [](const char* name, std::uint8_t modifiers = 0, const char* target = "sm_100a") {
    TileKernel kernel;
    return make_tile_kernel(find_instruction(name).value(), modifiers, target, kernel);
  };
  const auto names = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? "" : text + ": lacks " + part;
  };
  constexpr const char* kI8 = "tcgen05.m128n16k32.kind_i8.s32.s8.s8";
  EXPECT_EQ(refusal(kI8), "");
  EXPECT_EQ(names(refusal(kI8, 0, "sm_103a"), "the target sm_100a"), "");
  EXPECT_EQ(names(refusal(kI8, kNegateA), "0 for kind i8"), "");
  EXPECT_EQ(names(refusal(kF16, 0, "sm_120a"), "allowed sm_100a and sm_103a"), "");
  EXPECT_EQ(names(refusal(kF16, kAFromRegisters), "allowed scale-d"), "");
  EXPECT_EQ(names(refusal("tcgen05.m64n16k16.kind_f16.f32.f16.f16"), "m: found 64"), "");
  EXPECT_EQ(names(refusal("tcgen05.m128n16k8.kind_tf32.f32.tf32.tf32", kTransposeB), "32-byte atoms"), "");
  EXPECT_EQ(names(refusal("mma.m16n8k16.f32.f16.f16.f32"), "m: found 16"), "");
}

}  // namespace
}  // namespace mmaudit::tmem
