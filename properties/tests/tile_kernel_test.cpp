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
#include "mmaudit/tensor_memory/interpreter.hpp"
#include "mmaudit/tensor_memory/tile_kernel.hpp"

namespace mmaudit::tmem {
namespace {

const Architecture& blackwell() { return *find_architecture("blackwell"); }

const Datapath& datapath_of(const Instruction& inst) { return find_datapath(blackwell(), inst)->datapath; }

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

/// D of tile `tile` of a launch over the whole batch, in its place of batch.d; or why it did not run. The
/// kernel's variable lies behind another one, and all of shared memory holds random bits.
std::string run_tile(const TileKernel& kernel, const std::string& text, const TileView& batch,
                     std::size_t tile) {
  PtxProgram program;
  std::string moved = text;
  moved.insert(moved.find("  .shared"), "  .shared .align 16 .b8 before[5000];\n");
  if (std::string reason = parse_ptx(moved, program); !reason.empty()) return reason;
  Fill noise = fill_of(Fill::Role::words, 0, Format::u8, 1, 65536);
  noise.source = "random";
  noise.argument = "noise";
  Fill images = fill_of(Fill::Role::input, kImages, Format::u8, batch.tiles, kernel.tile_bytes()),
       addends = fill_of(Fill::Role::input, kAddends, Format::s32, batch.tiles, kernel.words());
  std::vector<std::uint8_t> image(kernel.tile_bytes());
  std::vector<std::uint32_t> words(kernel.words());
  for (std::size_t t = 0; t < batch.tiles; ++t) {
    write_image(kernel, batch, t, image);
    write_addends(kernel, batch, t, words);
    images.elements.insert(images.elements.end(), image.begin(), image.end());
    addends.elements.insert(addends.elements.end(), words.begin(), words.end());
  }
  program.fills = {noise, images, addends,
                   fill_of(Fill::Role::output, kResults, Format::s32, batch.tiles, kernel.words())};
  program.parameters = {{"images", kImages}, {"addends", kAddends}, {"results", kResults}};
  if (kernel.blocks() == 2) {
    noise.cta = 1;
    noise.argument = "other noise";
    program.fills.push_back(noise);
  }
  program.block = static_cast<std::uint32_t>(tile) * static_cast<std::uint32_t>(kernel.blocks());
  Interpreter interpreter(program, blackwell());
  if (std::string reason = interpreter.run(); !reason.empty()) return reason;
  if (interpreter.not_stored(3) != kernel.words() * (batch.tiles - 1))
    return "another number of stored elements";
  const std::vector<std::uint64_t> all = interpreter.output(3);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::uint32_t>(all[tile * words.size() + i]);
  read_results(kernel, words, batch, tile);
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
  for (std::size_t tile = 0; tile < batch.tiles && outcome.reason.empty(); ++tile)
    outcome.reason = run_tile(kernel, text, view, tile);
  const std::size_t bytes = spec_of(batch.instruction.d).storage_bytes();
  for (std::size_t i = 0; i < wanted.size() / bytes; ++i)
    outcome.different += load_bits(wanted, bytes, i) != load_bits(batch.d, bytes, i) ? 1U : 0U;
  return outcome;
}

TileBatch tiles_of(const Instruction& inst, gen::InputClass input_class, std::uint64_t seed,
                   std::size_t count, std::uint8_t modifiers) {
  TileBatch batch(inst);
  gen::append_class(batch, gen::make_generator_spec(inst, datapath_of(inst)), input_class, seed, 0, count,
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

/// Shapes of a form of tcgen05.mma. Source: PTX ISA 9.0, 9.7.16.2.1, Table 39.
struct Shape {
  const TileForm& form;
  std::int16_t m;
  bool sparse, scaled;  ///< scaled: with the block-scaled kinds too
  std::int16_t columns[4];
};
constexpr const TileForm &kPlain = kTileForms[0], &kStationary = kTileForms[1], &kPair = kTileForms[2],
                         &kFromTmem = kTileForms[3];
constexpr Shape kShapes[] = {
    {kPlain, 128, false, true, {8, 16, 24, 136}},        {kPlain, 128, true, false, {8, 16, 24, 136}},
    {kPlain, 64, false, false, {16, 8, 136, 24}},        {kStationary, 128, false, false, {64, 128, 256, 64}},
    {kStationary, 64, false, false, {64, 128, 256, 64}}, {kStationary, 32, false, false, {64, 128, 256, 64}},
    {kStationary, 128, true, false, {64, 128, 64, 128}}, {kStationary, 64, true, false, {64, 128, 64, 128}},
    {kStationary, 32, true, false, {64, 128, 64, 128}},  {kPair, 256, false, true, {16, 48, 32, 160}},
    {kPair, 256, true, false, {32, 16, 160, 48}},        {kPair, 128, false, true, {32, 48, 160, 256}},
    {kFromTmem, 128, false, true, {8, 256, 24, 136}},    {kFromTmem, 128, true, false, {8, 256, 24, 136}},
};

std::string text_of(const Shape& shape) {
  return std::string(shape.form.name) + " m " + std::to_string(shape.m) + (shape.sparse ? " sparse" : "");
}

/// Modifiers that an instruction has, one set per tile.
std::vector<std::uint8_t> modifiers_of(const Instruction& inst, const TileForm& form) {
  std::vector<std::uint8_t> sets = {0, kScaleDZero};
  if (inst.kind != MmaKind::i8)
    sets.insert(sets.end(), {kNegateA, kNegateB, kNegateA | kNegateB | kScaleDZero});
  for (const std::uint8_t set : {kTransposeA, kTransposeB})
    if (const Format format = set == kTransposeA ? inst.a : inst.b;
        spec_of(format).value_bits() >= 8 && spec_of(format).storage_bits < 32 &&
        inst.n % (16 * form.cta_group) == 0 && !(form.a_in_tensor_memory && set == kTransposeA))
      sets.push_back(set);
  return sets;
}

/// A of 4 and 6 bits reaches tensor memory in containers that no source describes.
bool has_form(const Instruction& inst, const TileForm& form) {
  return !form.a_in_tensor_memory || spec_of(inst.a).value_bits() >= 8 || inst.kind >= MmaKind::mxf4;
}

class EveryTileKernel : public ::testing::TestWithParam<MmaKind> {};

TEST_P(EveryTileKernel, GivesTheBitsOfEmulate) {
  constexpr gen::InputClass kClasses[] = {gen::InputClass::random_bits,   gen::InputClass::special_values,
                                          gen::InputClass::narrow_window, gen::InputClass::mostly_zeros,
                                          gen::InputClass::cancellation,  gen::InputClass::wide_window};
  const bool many = GetParam() == MmaKind::f8f6f4 || GetParam() == MmaKind::mxf8f6f4,
             scaled = GetParam() >= MmaKind::mxf8f6f4;
  std::size_t turn = 0, kernels = 0;
  std::size_t of_shape[std::size(kShapes)] = {};
  Seen seen;
  const auto check = [&](Instruction used, std::size_t s) {
    const Shape& shape = kShapes[s];
    const int step = shape.form.cta_group == 1 ? 8 : used.kind == MmaKind::i8 ? 32 : 16;
    used.m = shape.m;
    do used.n = shape.columns[turn++ % std::size(shape.columns)];
    while (used.n % step != 0 || !has_shape(used, shape.m, used.n));
    const std::vector<std::uint8_t> sets = modifiers_of(used, shape.form);
    const std::uint8_t modifiers = sets[(turn + kernels) % sets.size()];
    TileKernel kernel;
    ASSERT_EQ(make_tile_kernel(used, modifiers, "sm_100a", kernel, shape.form), "")
        << name_of(used) << " " << text_of(shape);
    TileBatch batch = tiles_of(used, kClasses[kernels++ % std::size(kClasses)], turn, 2, modifiers);
    seen.count(batch);
    ++of_shape[s];
    const Outcome outcome = compare(kernel, kernel.text, batch);
    ASSERT_EQ(outcome.reason, "") << name_of(used) << " " << text_of(shape) << "\n" << kernel.text;
    ASSERT_EQ(outcome.different, 0U) << name_of(used) << " " << text_of(shape) << " modifiers "
                                     << int{modifiers};
  };
  std::size_t next = 0;  // where there are many instructions, each takes the shapes that come next
  for (const Instruction& inst : kInstructions) {
    if (!is_tcgen05(inst.op) || inst.kind != GetParam()) continue;
    for (std::size_t s = 0; s < std::size(kShapes); ++s) {
      if (kShapes[s].sparse != is_sparse(inst.op) || (scaled && !kShapes[s].scaled) ||
          !has_form(inst, kShapes[s].form))
        continue;
      const std::size_t rounds = many ? (s < 2 || next++ % 4 == 0 ? 1 : 0) : s < 2 ? 6 : 1;
      for (std::size_t round = 0; round < rounds; ++round) ASSERT_NO_FATAL_FAILURE(check(inst, s));
    }
  }
  for (std::size_t s = 0; s < std::size(kShapes); ++s)
    EXPECT_EQ(of_shape[s] > 0, kShapes[s].scaled || !scaled) << text_of(kShapes[s]);
  EXPECT_GT(seen.other_addends, 0U);
  if (GetParam() != MmaKind::i8) {
    EXPECT_GT(seen.minus_zeros_of_c, 0U);
  }
  if (scaled) {
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
  const Shape& shape;
  const char *from, *to;
};
constexpr const char* kF16 = "tcgen05.m128n16k16.kind_f16.f32.f16.f16";
constexpr const char* kSparseF16 = "tcgen05.sp.m128n16k32.kind_f16.f32.f16.f16";
constexpr const char* kWide = "tcgen05.m128n64k16.kind_f16.f32.f16.f16";
constexpr const char* kMx = "tcgen05.m128n16k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e5m2.ue8m0";
constexpr const char* kWideMx = "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e5m2.ue8m0";
constexpr const Shape &kDense = kShapes[0], &kSparse = kShapes[1], &kHalf = kShapes[2],
                      &kQuartered = kShapes[5], &kFull = kShapes[9], &kSplit = kShapes[11],
                      &kTmem = kShapes[12];
constexpr Planted kPlanted[] = {
    {kF16, kDense, "%rd5, 0x401000080040;", "%rd5, 0x401000080048;"},       // another start of A
    {kF16, kDense, "%rd7, %rd5, 0x4010", "%rd7, %rd5, 0x4008"},             // another stride of B
    {kF16, kDense, "mov.b32 %r10, 0x8040010", "mov.b32 %r10, 0x8042010"},   // A negated
    {kF16, kDense, "mov.b32 %r10, 0x8040010", "mov.b32 %r10, 0x8040490"},   // bf16
    {kF16, kDense, "setp.eq.u32 %p3", "setp.ne.u32 %p3"},                   // C is not read
    {kF16, kDense, "mad.lo.u32 %r6, %r2, 128", "mad.lo.u32 %r6, %r2, 64"},  // another row
    {kF16, kDense, "32x32b.x8.b32 [%r8+8]", "32x32b.x8.b32 [%r8+0]"},       // C in other columns
    {kF16, kDense, "shl.b32 %r8, %r4, 21", "shl.b32 %r8, %r4, 20"},         // lanes of another warp
    {kMx, kDense, "mov.b32 %r10, 0x8840400", "mov.b32 %r10, 0x8840080"},    // formats exchanged
    {kMx, kDense, "[%r7+16], [%r7+20], %p3", "[%r7+20], [%r7+16], %p3"},    // scales exchanged
    {kMx, kDense, "warpx4 [%r7+20]", "warpx4 [%r7+16]"},                    // scales of B for A
    {kSparseF16, kSparse, "128x128b [%r7+16]", "128x128b [%r7+20]"},        // metadata elsewhere
    {kF16, kHalf, "and.b32 %r13, %r12, 31", "and.b32 %r13, %r12, 15"},      // lanes without a row store too
    {kF16, kHalf, "setp.lt.u32 %p6, %r13, 16",
     "setp.lt.u32 %p6, %r13, 8"},  // half of the rows are not stored
    {kF16, kHalf, "mad.lo.u32 %r12, %r12, 16", "mad.lo.u32 %r12, %r12, 32"},  // rows of another warp
    {kF16, kHalf, "%r10, 0x4040010", "%r10, 0x8040010"},                      // M = 128
    {kWide, kQuartered, "mul.wide.u32 %rd4, %r11, 64", "mul.wide.u32 %rd4, %r11, 32"},  // other columns of D
    {kWide, kQuartered, "shr.u32 %r11, %r1, 5", "shr.u32 %r11, %r1, 6"},                // two parts, not four
    {kWide, kQuartered, "tcgen05.mma.ws", "tcgen05.mma"},            // no M = 32 without .ws
    {kWide, kFull, "%p5 tcgen05.mma", "%p2 tcgen05.mma"},            // both blocks issue
    {kWide, kFull, "mov.b16 %h1, 3", "mov.b16 %h1, 1"},              // the second block waits forever
    {kWide, kFull, "or.b32 %r6, %r1, %r6", "or.b32 %r6, %r1, %r1"},  // every block is the first
    {kWide, kFull, "mul.wide.u32 %rd4, %r2, 6144", "mul.wide.u32 %rd4, %r2, 4096"},  // another image
    {kWide, kFull, "mad.lo.u32 %r6, %r2, 128", "mad.lo.u32 %r6, %r2, 64"},  // rows of the other block
    {kWide, kSplit, "%r10, 0x8100010", "%r10, 0x10100010"},                 // M = 256
    {kF16, kTmem, "128x256b [%r7+16]", "128x256b [%r7+17]"},                // A elsewhere
    {kF16, kTmem, "[%r7], [%r7+16]", "[%r7], [%r7+17]"},                    // A read elsewhere
    {kWideMx, kSplit, "warpx2::01_23", "warpx2::02_13"},                    // scales of the other columns
};

TEST(TileKernel, OneWrongNumberShows) {
  for (const Planted& one : kPlanted) {
    Instruction inst = find_instruction(one.instruction).value();
    inst.m = one.shape.m;
    TileKernel kernel;
    ASSERT_EQ(make_tile_kernel(inst, 0, "sm_100a", kernel, one.shape.form), "");
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
  ASSERT_EQ(run_tile(kernel, kernel.text, bare, 0), "");
  EXPECT_EQ(batch.d, wanted);
}

TEST(TileKernel, RefusesWhatItCannotRun) {
  const auto refused = [](Instruction inst, std::uint8_t modifiers = 0, const char* target = "sm_100a",
                          const TileForm& form = kPlain) {
    TileKernel kernel;
    return make_tile_kernel(inst, modifiers, target, kernel, form);
  };
  const auto of = [](const char* name, int m = 128) {
    Instruction inst = find_instruction(name).value();
    inst.m = static_cast<std::int16_t>(m);
    return inst;
  };
  const auto names = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? "" : text + ": lacks " + part;
  };
  constexpr const char* kI8 = "tcgen05.m128n16k32.kind_i8.s32.s8.s8";
  EXPECT_EQ(refused(of(kI8)), "");
  EXPECT_EQ(names(refused(of(kI8), 0, "sm_103a"), "the target sm_100a"), "");
  EXPECT_EQ(names(refused(of(kI8), kNegateA), "0 for kind i8"), "");
  EXPECT_EQ(names(refused(of(kF16), 0, "sm_120a"), "allowed: sm_100a and sm_103a"), "");
  EXPECT_EQ(names(refused(of(kF16), kAFromRegisters), "allowed: scale-d"), "");
  EXPECT_EQ(names(refused(of("tcgen05.m128n16k8.kind_tf32.f32.tf32.tf32"), kTransposeB), "32-byte atoms"),
            "");
  EXPECT_EQ(
      names(refused(find_instruction("mma.m16n8k16.f32.f16.f16.f32").value()), "allowed: one of tcgen05"),
      "");
  // Shapes that a form lacks.
  EXPECT_EQ(names(refused(of(kF16, 32)), "M: found 32"), "");
  EXPECT_EQ(names(refused(of(kMx, 64)), "idesc"), "");
  EXPECT_EQ(names(refused(of(kF16), 0, "sm_100a", kStationary), "N: found 16"), "");
  EXPECT_EQ(names(refused(of(kMx), 0, "sm_100a", kStationary), ".ws: found"), "");
  EXPECT_EQ(names(refused(of(kF16, 64), 0, "sm_100a", kPair), "M: found 64"), "");
  // What A in tensor memory can't be.
  EXPECT_EQ(names(refused(of(kF16, 64), 0, "sm_100a", kFromTmem), "M: found 64, allowed: 128"), "");
  EXPECT_EQ(names(refused(of(kF16), kTransposeA, "sm_100a", kFromTmem), "a transposed A"), "");
  EXPECT_EQ(names(refused(of("tcgen05.m128n16k32.kind_f8f6f4.f32.e2m3.e4m3"), 0, "sm_100a", kFromTmem),
                  "not modelled: A of 4 or 6 bits"),
            "");
  // Lanes of metadata that no source gives.
  EXPECT_EQ(names(refused(of(kSparseF16, 64)), "not modelled: metadata"), "");
  EXPECT_EQ(names(refused(of(kSparseF16), 0, "sm_100a", kPair), "not modelled: metadata"), "");
}

}  // namespace
}  // namespace mmaudit::tmem
