// The interpreter against emulate(): random tiles of every kind go into shared memory by a formula of this
// file, through cp, mma and commit, and D must have the bits that emulate() gives for the same tile.
#include <cstdlib>
#include <cstring>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/tensor_memory/shared_matrix.hpp"
#include "programs.hpp"

namespace mmaudit::tmem {
namespace {

using test::plain_byte;

// Where everything lies in shared memory.
constexpr std::uint32_t kA = 0x1000, kB = 0x3000, kC = 0x5000, kScaleA = 0x7000, kScaleB = 0x8000,
                        kMetadata = 0x9000;

/// What a program is about; N is 8, so that D is one cp of 128x256b.
struct MmaCase {
  Instruction instruction;  ///< listed, with M and N
  bool a_in_tensor_memory = false;
  bool sparse() const { return is_sparse(instruction.op); }
  int rows() const { return instruction.m; }
  int depth() const { return instruction.k; }
  bool dense4() const { return instruction.kind == MmaKind::mxf4 || instruction.kind == MmaKind::mxf4nvf4; }
};

/// The bytes of a row in 16-byte pieces: elements of 4 and 6 bits are padded to 16 a piece, but for the
/// kinds of e2m1 alone.
void put_element(std::vector<std::uint64_t>& bytes, const MmaCase& setup, Format format, int rows, int row,
                 int k, std::uint64_t bits) {
  const FormatSpec spec = spec_of(format);
  const int width = spec.storage_bits > 8 ? spec.storage_bits : spec.value_bits();
  const int each = setup.dense4() ? 32 : 128 / spec.storage_bits,
            bit = k % each * (setup.dense4() ? 4 : width);
  for (int i = 0; i < width; ++i) {
    const std::size_t at = plain_byte(row, k / each * 16 + (bit + i) / 8, rows);
    bytes[at] |= (bits >> i & 1) << (bit + i) % 8;
  }
}

/// Lane of row `row` of D with this M. M = 64 uses the lower half of every warp's lanes.
int lane_of(int m, int row) { return m == 128 ? row : row % 16 + row / 16 * 32; }

std::string program_of(const MmaCase& setup, std::uint32_t idesc, bool accumulate) {
  const Instruction& inst = setup.instruction;
  std::string text = test::prologue();
  const auto descriptor = [&](const char* reg, std::uint32_t start, int rows) {
    text += std::string("mov.b64 ") + reg + ", " + test::hex(test::plain_descriptor(start, rows)) + ";\n";
  };
  descriptor("%rd1", kA, setup.rows());
  descriptor("%rd2", kB, 8);
  descriptor("%rd3", kC, 128);
  descriptor("%rd4", kScaleA, 32);
  descriptor("%rd5", kScaleB, 32);
  descriptor("%rd6", kMetadata, 128);
  descriptor("%rd7", kA, 128);
  text += "mov.b32 %r4, " + test::hex(idesc) + ";\n";
  text += "@%p2 tcgen05.cp.cta_group::1.128x256b [%r3], %rd3;\n";
  if (inst.scale != Format::none)
    text +=
        "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3+32], %rd4;\n"
        "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3+36], %rd5;\n";
  if (setup.sparse()) text += "@%p2 tcgen05.cp.cta_group::1.128x128b [%r3+40], %rd6;\n";
  if (setup.a_in_tensor_memory) text += "@%p2 tcgen05.cp.cta_group::1.128x256b [%r3+16], %rd7;\n";
  text += "@%p2 tcgen05.mma." + std::string(setup.sparse() ? "sp." : "") +
          "cta_group::1.kind::" + std::string(mmaudit::name_of(inst.kind));
  if (inst.scale != Format::none) text += ".block_scale.scale_vec::" + std::to_string(scales_of(inst)) + "X";
  text += " [%r3], " + std::string(setup.a_in_tensor_memory ? "[%r3+16]" : "%rd1") + ", %rd2, ";
  if (setup.sparse()) text += "[%r3+40], ";
  text += "%r4, ";
  if (inst.scale != Format::none) text += "[%r3+32], [%r3+36], ";
  text += std::string(accumulate ? "%p4" : "%p3") + ";\n";
  return text + test::commit_and_wait() + test::epilogue();
}

/// One tile of random bits through both; false on a difference.
class Tile {
 public:
  Tile(const MmaCase& setup, std::uint64_t seed) : setup_(setup), state_(seed), inst_(setup.instruction) {
    mma_.form.kind = inst_.kind;
    mma_.form.sparse = setup.sparse();
    mma_.instruction = setup.instruction;
    const std::uint64_t flags = splitmix64(state_);
    const bool integer = inst_.kind == MmaKind::i8;
    mma_.negate_a = !integer && (flags & 1) != 0;
    mma_.negate_b = !integer && (flags & 2) != 0;
    accumulate_ = (flags & 12) != 0;
  }

  [[nodiscard]] std::string text() const {
    return program_of(setup_, instruction_descriptor(mma_), accumulate_);
  }

  /// D of the interpreter and of emulate() alike?
  ::testing::AssertionResult agrees() {
    PtxProgram program;
    if (std::string reason = parse_ptx(text(), program); !reason.empty())
      return ::testing::AssertionFailure() << reason;
    TileBatch tile(
        inst_, 1,
        static_cast<std::uint8_t>((accumulate_ ? 0 : kScaleDZero) | (mma_.negate_a ? kNegateA : 0) |
                                  (mma_.negate_b ? kNegateB : 0)));
    const int rows = setup_.rows(), depth = setup_.depth(), stored = inst_.stored_k();
    std::vector<std::uint64_t> a(4096), b(512), c(4096), sa(512), sb(512), meta(2048);
    if (setup_.a_in_tensor_memory && rows == 64)
      return ::testing::AssertionFailure() << "M = 64 from tensor memory";
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < stored; ++k)
        put(tile.a, inst_.a, row * stored + k, a, setup_.a_in_tensor_memory ? 128 : rows, row, k);
    b.resize(setup_.sparse() ? 512 : 256);
    for (int column = 0; column < 8; ++column)
      for (int k = 0; k < depth; ++k) put(tile.b, inst_.b, k * 8 + column, b, 8, column, k);
    const FormatSpec d = spec_of(inst_.d);
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < 8; ++column) {
        const std::uint64_t bits = random_of(inst_.d);
        store_bits(tile.c, d.storage_bytes(), index_at(row, 8, column), bits);
        for (int i = 0; i < 4; ++i)
          c[plain_byte(lane_of(rows, row), column * 4 + i, 128)] = bits >> 8 * i & 0xFF;
      }
    }
    const int vec = scales_of(inst_);
    for (int row = 0; row < (vec == 0 ? 0 : rows); ++row) {
      for (int s = 0; s < vec; ++s) {
        const std::uint64_t byte = random_scale();
        tile.scale_a[index_at(row, vec, s)] = static_cast<std::uint8_t>(byte);
        sa[plain_byte(row % 32, row / 32 * 4 + s, 32)] = byte;
      }
    }
    for (int column = 0; column < (vec == 0 ? 0 : 8); ++column) {
      for (int s = 0; s < vec; ++s) {
        const std::uint64_t byte = random_scale();
        tile.scale_b[index_at(s, 8, column)] = static_cast<std::uint8_t>(byte);
        sb[plain_byte(column, s, 32)] = byte;
      }
    }
    if (setup_.sparse()) put_metadata(tile, meta);
    fill(program, kA, a);
    fill(program, kB, b);
    fill(program, kC, c);
    fill(program, kScaleA, sa);
    fill(program, kScaleB, sb);
    fill(program, kMetadata, meta);
    Interpreter interpreter(program, test::blackwell());
    if (std::string reason = interpreter.run(); !reason.empty())
      return ::testing::AssertionFailure() << reason << "\n" << text();
    emulate(inst_, find_datapath(test::blackwell(), inst_)->datapath, tile.view());
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < 8; ++column) {
        const std::uint64_t wanted = load_bits(tile.d, d.storage_bytes(), index_at(row, 8, column));
        const std::uint64_t found = interpreter.cta(0).memory.at(lane_of(rows, row), column);
        if (wanted != found)
          return ::testing::AssertionFailure() << name_of(inst_) << " row " << row << " column " << column
                                               << ": " << test::hex(found) << ", model " << test::hex(wanted);
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  std::uint64_t random_of(Format format) {
    const FormatSpec spec = spec_of(format);
    const std::uint64_t all = splitmix64(state_);
    const int width = spec.storage_bits > 8 ? spec.storage_bits : spec.value_bits();
    std::uint64_t bits = all & ((std::uint64_t{1} << width) - 1);
    // Most tiles without infinity and NaN, else hardly anything else comes out.
    if ((seed_specials_++ & 63) != 0 && !spec.integer() && spec.specials != Specials::finite)
      bits &= ~((spec.magnitude_mask() + 1) >> 1) | (all >> 60 == 0 ? ~std::uint64_t{0} >> 1 : 0);
    return bits;
  }
  std::uint64_t random_scale() {
    const std::uint64_t bits = splitmix64(state_);
    return inst_.scale == Format::ue8m0 ? 118 + bits % 20 : bits & 0x7F;
  }
  void put(std::vector<std::byte>& tile, Format format, int index, std::vector<std::uint64_t>& bytes,
           int rows, int row, int k) {
    const std::uint64_t bits = random_of(format);
    store_bits(tile, spec_of(format).storage_bytes(), static_cast<std::size_t>(index), bits);
    put_element(bytes, setup_, format, rows, row, k, bits);
  }
  void put_metadata(TileBatch& tile, std::vector<std::uint64_t>& bytes) {
    const Sparsity sparsity = sparsity_of(inst_);
    const int stored = inst_.stored_k(), groups = stored / sparsity.kept;
    for (int row = 0; row < setup_.rows(); ++row) {
      for (int group = 0; group < groups; ++group) {
        const std::uint64_t random = splitmix64(state_) % static_cast<unsigned>(patterns(sparsity));
        std::uint8_t* const to = &tile.metadata[index_at(row, stored, group * sparsity.kept)];
        write_pattern(sparsity, static_cast<int>(random), to);
        const std::uint64_t bits = encode_group(sparsity, to);
        // Elements of 8 bits: 64 bits per lane. Others: rows r and r + 8 share a word, the second half of the
        // groups is eight lanes on.
        const bool wide = groups == 8;
        const int lane = wide ? row / 16 * 16 + row % 8 + (group >= 4 ? 8 : 0) : row;
        const int bit = wide ? (row % 16 >= 8 ? 16 : 0) + 4 * (group % 4) : 4 * group;
        bytes[plain_byte(lane, bit / 8, 128)] |= bits << bit % 8;
      }
    }
  }
  static void fill(PtxProgram& program, std::uint32_t place, const std::vector<std::uint64_t>& bytes) {
    Fill one;
    one.place = place;
    one.format = Format::u8;
    one.rows = 1;
    one.columns = static_cast<int>(bytes.size());
    one.elements = bytes;
    program.fills.push_back(one);
  }

  MmaCase setup_;
  std::uint64_t state_;
  Instruction inst_;
  Mma mma_;
  bool accumulate_ = true;
  unsigned seed_specials_ = 1;
};

/// Every setup of a kind: formats, M, where A is, dense and sparse.
std::vector<MmaCase> setups_of(MmaKind kind) {
  std::vector<MmaCase> setups;
  for (Instruction inst : kInstructions) {
    if (!is_tcgen05(inst.op) || inst.kind != kind) continue;
    inst.n = 8;
    const bool scaled = inst.scale != Format::none, narrow = spec_of(inst.a).value_bits() < 8;
    for (const int m : {64, 128}) {
      if (m == 64 && (scaled || is_sparse(inst.op))) continue;
      inst.m = static_cast<std::int16_t>(m);
      setups.push_back({inst, false});
      if (m == 128 && !is_sparse(inst.op) && (!narrow || kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4))
        setups.push_back({inst, true});
    }
  }
  return setups;
}

/// How many tiles per kind: MMAUDIT_TENSOR_TILES, or few enough for every build.
std::uint64_t tiles_per_kind() {
  const char* const text = std::getenv("MMAUDIT_TENSOR_TILES");
  return text == nullptr ? 400 : std::strtoull(text, nullptr, 10);
}

class EveryKind : public ::testing::TestWithParam<MmaKind> {};

TEST_P(EveryKind, TheInterpretersMmaIsEmulate) {
  const std::vector<MmaCase> setups = setups_of(GetParam());
  ASSERT_FALSE(setups.empty());
  for (std::uint64_t t = 0; t < tiles_per_kind(); ++t) {
    Tile tile(setups[t % setups.size()], 0xB1ACull + (static_cast<std::uint64_t>(GetParam()) << 56) + t);
    ASSERT_TRUE(tile.agrees()) << "tile " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind,
                         ::testing::Values(MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8,
                                           MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4),
                         [](const auto& tested) { return std::string(mmaudit::name_of(tested.param)); });

/// A kernel of two CTAs, or with .ws: integers small enough that every sum is exact, against a plain product.
struct Shaped {
  const char* name;
  int m, n, group;
  bool weight_stationary;
  int (*lane)(int row, int column, int n);
  int (*column)(int row, int column, int n);
};

class EveryLayout : public ::testing::TestWithParam<Shaped> {};

TEST_P(EveryLayout, DLiesWhereThePtxIsaDrawsIt) {
  const Shaped& shape = GetParam();
  const std::string group = std::to_string(shape.group);
  Mma mma;
  mma.instruction.m = static_cast<std::int16_t>(shape.m);
  mma.instruction.n = static_cast<std::int16_t>(shape.n);
  mma.instruction.a = mma.instruction.b = Format::f16;
  mma.instruction.d = Format::f32;
  const int rows = shape.m / shape.group, columns = shape.n / shape.group;
  const std::string a = test::hex(test::plain_descriptor(kA, rows)),
                    b = test::hex(test::plain_descriptor(kC, columns));
  std::string text;
  for (int cta = 0; cta < shape.group; ++cta) {
    const std::string where = " cta " + std::to_string(cta);
    text.append("//! shared a ").append(a).append(" f16 ").append(std::to_string(rows)).append("x16");
    text.append(where).append(" = zero\n//! shared b ").append(b).append(" f16 16x");
    text.append(std::to_string(columns)).append(where).append(" = zero\n");
  }
  text += test::prologue("256", group) + "mov.b64 %rd1, " + a + ";\nmov.b64 %rd2, " + b + ";\nmov.b32 %r4, " +
          test::hex(instruction_descriptor(mma)) + ";\n@%p6 tcgen05.mma." +
          (shape.weight_stationary ? "ws." : "") + "cta_group::" + group +
          ".kind::f16 [%r3], %rd1, %rd2, %r4, %p3;\n" + test::commit_and_wait(group) +
          test::epilogue("256", group);
  PtxProgram program;
  ASSERT_EQ(parse_ptx(text, program), "");
  const auto a_value = [](int row, int k) { return (row * 3 + k * 5) % 7 - 3; };
  const auto b_value = [](int k, int column) { return (k * 2 + column * 3) % 5 - 2; };
  for (int cta = 0; cta < shape.group; ++cta) {
    Fill &fa = program.fills[index_at(cta, 2, 0)], &fb = program.fills[index_at(cta, 2, 1)];
    for (int i = 0; i < rows * 16; ++i)
      fa.elements.push_back(encode_nearest_even(a_value(cta * rows + i / 16, i % 16), spec_of(Format::f16)));
    for (int i = 0; i < 16 * columns; ++i)
      fb.elements.push_back(
          encode_nearest_even(b_value(i / columns, cta * columns + i % columns), spec_of(Format::f16)));
  }
  Interpreter interpreter(program, test::blackwell());
  ASSERT_EQ(interpreter.run(), "");
  for (int row = 0; row < shape.m; ++row) {
    for (int column = 0; column < shape.n; ++column) {
      double sum = 0;
      for (int k = 0; k < 16; ++k) sum += a_value(row, k) * b_value(k, column);
      const std::uint32_t found =
          interpreter.cta(row / rows)
              .memory.at(shape.lane(row % rows, column, shape.n), shape.column(row, column, shape.n));
      ASSERT_EQ(decode_value(found, spec_of(Format::f32)), sum) << row << " " << column;
    }
  }
}

constexpr Shaped kLayouts[] = {
    {"A", 256, 64, 2, false, [](int r, int, int) { return r; }, [](int, int c, int) { return c; }},
    {"B", 128, 64, 2, false, [](int r, int c, int n) { return r + (c >= n / 2 ? 64 : 0); },
     [](int, int c, int n) { return c % (n / 2); }},
    {"D", 128, 40, 1, false, [](int r, int, int) { return r; }, [](int, int c, int) { return c; }},
    {"Dws", 128, 64, 1, true, [](int r, int, int) { return r; }, [](int, int c, int) { return c; }},
    {"E", 64, 128, 1, true, [](int r, int c, int n) { return r + (c >= n / 2 ? 64 : 0); },
     [](int, int c, int n) { return c % (n / 2); }},
    {"F", 64, 24, 1, false, [](int r, int, int) { return r % 16 + r / 16 * 32; },
     [](int, int c, int) { return c; }},
    {"G", 32, 64, 1, true, [](int r, int c, int n) { return r + c / (n / 4) * 32; },
     [](int, int c, int n) { return c % (n / 4); }},
};
INSTANTIATE_TEST_SUITE_P(Layouts, EveryLayout, ::testing::ValuesIn(kLayouts),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace mmaudit::tmem
