// The tables of P. Luo's note on Blackwell (sections 1.1 to 1.3), entry by entry, against the model. The
// numbers are the printed ones. Where the note differs from itself or from the PTX ISA, the row says so.
#include <cstring>

#include "mmaudit/model/ocp.hpp"
#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "programs.hpp"

namespace mmaudit::tmem {
namespace {

// Table 8: the memory of every matrix. An operand in brackets is in tensor memory, any other in shared
// memory.
TEST(Note, Table8MemoryOfEveryMatrix) {
  struct Row {
    const char *matrix, *form, *idesc, *operands, *refusal;  ///< the rule that refuses it; empty: allowed
  };
  constexpr const char *kF16 = "0x08100010", *kSparse = "0x08100014", *kScaled = "0x08900000";
  const Row rows[] = {
      {"A in tensor memory", "cta_group::1.kind::f16", kF16, "[%r3], [%r3+100], %rd2, %r4, %p3", ""},
      {"A in shared memory", "cta_group::1.kind::f16", kF16, "[%r3], %rd1, %rd2, %r4, %p3", ""},
      {"B in tensor memory", "cta_group::1.kind::f16", kF16, "[%r3], %rd1, [%r3+100], %r4, %p3", "place_b"},
      {"B in shared memory", "cta_group::1.kind::f16", kF16, "[%r3], [%r3+100], %rd2, %r4, %p3", ""},
      {"D in tensor memory", "cta_group::1.kind::f16", kF16, "[%r3], %rd1, %rd2, %r4, %p3", ""},
      {"D in shared memory", "cta_group::1.kind::f16", kF16, "%rd3, %rd1, %rd2, %r4, %p3", "place_d"},
      {"metadata in tensor memory", "sp.cta_group::1.kind::f16", kSparse,
       "[%r3], %rd1, %rd2, [%r3+100], %r4, %p3", ""},
      {"metadata in shared memory", "sp.cta_group::1.kind::f16", kSparse, "[%r3], %rd1, %rd2, %rd3, %r4, %p3",
       "place_metadata"},
      {"scales in tensor memory", "cta_group::1.kind::mxf8f6f4.block_scale", kScaled,
       "[%r3], %rd1, %rd2, %r4, [%r3+100], [%r3+104], %p3", ""},
      {"scales of A in shared memory", "cta_group::1.kind::mxf8f6f4.block_scale", kScaled,
       "[%r3], %rd1, %rd2, %r4, %rd3, [%r3+104], %p3", "place_scales"},
      {"scales of B in shared memory", "cta_group::1.kind::mxf8f6f4.block_scale", kScaled,
       "[%r3], %rd1, %rd2, %r4, [%r3+100], %rd3, %p3", "place_scales"},
  };
  for (const Row& row : rows) {
    const std::string text =
        test::kZeros + "//! shared words 0x8000 u8 1x4096 = zero\n" + test::prologue() +
        "mov.b64 %rd1, 0x0000400800800100;\nmov.b64 %rd2, 0x0000400800400300;\n"
        "mov.b64 %rd3, 0x0000400800800800;\nmov.b32 %r4, " +
        row.idesc + ";\n@%p2 tcgen05.cp.cta_group::1.128x256b [%r3+100], %rd3;\n@%p2 tcgen05.mma." +
        row.form + " " + row.operands + ";\n" + test::commit_and_wait() + test::epilogue();
    PtxProgram program;
    ASSERT_EQ(parse_ptx(text, program), "") << row.matrix;
    program.fills[1].elements.assign(4096, 0x44);  // a pattern that is metadata and scales as well
    Interpreter interpreter(program, test::blackwell());
    const std::string reason = interpreter.run();
    if (*row.refusal == 0)
      EXPECT_EQ(reason, "") << row.matrix;
    else
      EXPECT_NE(reason.find(rule(row.refusal).allowed), std::string::npos) << row.matrix << ": " << reason;
  }
}

// Table 9 gives every form an optional scale-input-d, whatever the kind. The PTX ISA has it for f16 and tf32
// alone. All else in the table: convolution/tests/forms_test.cpp.
TEST(Note, Table9ScaleInputDOfEveryForm) {
  struct Form {
    int number;
    const char *ashift, *collector, *a;
  };
  const Form forms[] = {{1, "", ".collector::a::fill", "%rd1"},
                        {2, "", ".collector::a::fill", "[%r3+100]"},
                        {2, ".ashift", ".collector::a::discard", "[%r3+100]"},
                        {3, ".ashift", "", "[%r3+100]"}};
  struct Kind {
    const char *name, *idesc;
    bool allowed;
  };
  for (const Kind kind :
       {Kind{"f16", "0x08100010", true}, {"tf32", "0x08100910", true}, {"f8f6f4", "0x08100010", false}}) {
    for (const Form& form : forms) {
      for (const char* const mask : {"", "{%r40, %r40, %r40, %r40}, "}) {
        const std::string reason = test::run_text(
            test::kZeros + test::prologue() +
            "mov.b64 %rd1, 0x0000400800800100;\nmov.b64 %rd2, 0x0000400800400300;\nmov.b32 %r4, " +
            kind.idesc +
            ";\n@%p2 tcgen05.cp.cta_group::1.128x256b [%r3+100], %rd1;\nmov.u32 %r40, 1;\n@%p2 "
            "tcgen05.mma.cta_group::1.kind::" +
            kind.name + form.ashift + form.collector + " [%r3], " + form.a + ", %rd2, %r4, " + mask +
            "%p3, 2;\n" + test::commit_and_wait() + test::epilogue());
        if (kind.allowed)
          EXPECT_EQ(reason, "") << form.number << kind.name << mask;
        else
          EXPECT_NE(reason.find(rule("scale_d_kind").allowed), std::string::npos)
              << form.number << kind.name << mask << ": " << reason;
      }
    }
  }
}

/// One entry of Tables 10 and 11, and the instructions that it is about.
struct Size {
  const char *printed, *generation;
  Op op;
  MmaKind kind;
  Format a, b, scale;  ///< a, b none: any
  int scale_block;
  int m, n, k;       ///< of one tensor core
  int fma;           ///< per clock per SM; of Ampere as Sun et al. 2023 have it (note of Table 3)
  int instructions;  ///< how many must be there
};

// The note prints FP8 under Ampere, whose tensor cores have none, and leaves Hopper's cell blank.
constexpr Format kAny = Format::none;
constexpr Size kSizes[] = {
    {"Table 10, TF32", "ampere", Op::mma, MmaKind::none, Format::tf32, Format::tf32, kAny, 0, 8, 4, 4, 512,
     2},
    {"Table 10, TF32", "hopper", Op::wgmma, MmaKind::none, Format::tf32, Format::tf32, kAny, 0, 8, 4, 8, 1024,
     1},
    {"Table 10, FP16", "ampere", Op::mma, MmaKind::none, Format::f16, Format::f16, kAny, 0, 8, 4, 8, 1024, 4},
    {"Table 10, FP16", "hopper", Op::wgmma, MmaKind::none, Format::f16, Format::f16, kAny, 0, 8, 4, 16, 2048,
     2},
    {"Table 10, FP8", "ampere", Op::mma, MmaKind::none, Format::e4m3, Format::e4m3, kAny, 0, 8, 4, 32, 4096,
     0},
    {"Table 10, FP8", "hopper", Op::wgmma, MmaKind::none, Format::e4m3, Format::e4m3, kAny, 0, 8, 4, 32, 4096,
     2},
    {"Table 10, FP8", "hopper", Op::wgmma, MmaKind::none, Format::e5m2, Format::e5m2, kAny, 0, 8, 4, 32, 4096,
     2},
    {"Table 10, Int8", "ampere", Op::mma, MmaKind::none, Format::s8, Format::s8, kAny, 0, 8, 4, 16, 2048, 6},
    {"Table 10, Int8", "hopper", Op::wgmma, MmaKind::none, Format::s8, Format::s8, kAny, 0, 8, 4, 32, 4096,
     2},
    {"Table 11, TF32*TF32", "blackwell", Op::tcgen05, MmaKind::tf32, Format::tf32, Format::tf32, kAny, 0, 8,
     8, 8, 2048, 1},
    {"Table 11, FP16*FP16", "blackwell", Op::tcgen05, MmaKind::f16, Format::f16, Format::f16, kAny, 0, 8, 8,
     16, 4096, 2},
    {"Table 11, BF16*BF16", "blackwell", Op::tcgen05, MmaKind::f16, Format::bf16, Format::bf16, kAny, 0, 8, 8,
     16, 4096, 1},
    {"Table 11, I8*I8", "blackwell", Op::tcgen05, MmaKind::i8, Format::s8, Format::s8, kAny, 0, 8, 8, 32,
     8192, 2},
    {"Table 11, U8*U8", "blackwell", Op::tcgen05, MmaKind::i8, Format::u8, Format::u8, kAny, 0, 8, 8, 32,
     8192, 2},
    {"Table 11, {f4,f6,f8}*{f4,f6,f8}", "blackwell", Op::tcgen05, MmaKind::f8f6f4, kAny, kAny, kAny, 0, 8, 8,
     32, 8192, 50},
    {"Table 11, {mxf4,mxf6,mxf8}*{mxf4,mxf6,mxf8}", "blackwell", Op::tcgen05, MmaKind::mxf8f6f4, kAny, kAny,
     Format::ue8m0, 32, 8, 8, 32, 8192, 25},
    {"Table 11, {mxf4}*{mxf4}", "blackwell", Op::tcgen05, MmaKind::mxf4, Format::e2m1, Format::e2m1,
     Format::ue8m0, 32, 8, 8, 64, 16384, 1},
    {"Table 11, {mxf4}*{mxf4}, 2*ue8m0", "blackwell", Op::tcgen05, MmaKind::mxf4nvf4, Format::e2m1,
     Format::e2m1, Format::ue8m0, 32, 8, 8, 64, 16384, 1},
    {"Table 11, {nvf4}*{nvf4}, 4*ue4m3", "blackwell", Op::tcgen05, MmaKind::mxf4nvf4, Format::e2m1,
     Format::e2m1, Format::ue4m3, 16, 8, 8, 64, 16384, 1},
};

// Tables 10 and 11: m and n are our table's, k is what it makes of the published rates, and 4 cores multiply
// 4 * m * n
// * k per clock.
TEST(Note, Tables10And11SizesOfATensorCore) {
  for (const Size& row : kSizes) {
    const TensorCores& cores = *find_tensor_cores(row.generation);
    EXPECT_EQ(cores.m, row.m) << row.printed;
    EXPECT_EQ(cores.n, row.n) << row.printed;
    EXPECT_EQ(cores.per_sm * cores.m * cores.n * row.k, row.fma) << row.printed;
    int found = 0;
    for (const Instruction& inst : kInstructions) {
      if (inst.op != row.op || inst.kind != row.kind || inst.scale != row.scale ||
          inst.scale_block != row.scale_block || (row.a != kAny && inst.a != row.a) ||
          (row.b != kAny && inst.b != row.b))
        continue;
      const std::optional<int> k = core_depth(*find_architecture(row.generation), inst);
      if (!k) continue;  // another generation's, or without a unit
      ++found;
      EXPECT_EQ(*k, row.k) << row.printed << ", " << row.generation << ": " << name_of(inst);
    }
    EXPECT_EQ(found, row.instructions) << row.printed << ", " << row.generation;
  }
}

// 1.3: "The computation power doubles from Hopper to Blackwell". Every type of Table 10 does, from Ampere to
// Hopper as well where Ampere has it.
TEST(Note, EveryTypeDoublesPerGeneration) {
  const auto fma_of = [](std::string_view generation, Format format) {
    for (const Size& row : kSizes)
      if (row.generation == generation && row.a == format && row.instructions != 0) return row.fma;
    return 0;
  };
  for (const Format format : {Format::tf32, Format::f16, Format::s8}) {
    EXPECT_EQ(fma_of("hopper", format), 2 * fma_of("ampere", format)) << name_of(format);
    EXPECT_EQ(fma_of("blackwell", format), 2 * fma_of("hopper", format)) << name_of(format);
  }
  EXPECT_EQ(fma_of("blackwell", kAny), 2 * fma_of("hopper", Format::e4m3));
}

// Table 12: type of the scale, elements per scale, and whether the OCP specifies it; 1.3: 2 scales per 64
// elements of mxf4, 4 of nvf4. The last row is PTX's alone.
TEST(Note, Table12ElementsPerScaleAndOcp) {
  struct Row {
    const char* printed;
    MmaKind kind;
    Format element, scale;
    int group, per_64;
    bool ocp;
  };
  const Row rows[] = {
      {"mx_float8_t", MmaKind::mxf8f6f4, Format::e4m3, Format::ue8m0, 32, 2, true},
      {"mx_float8_t", MmaKind::mxf8f6f4, Format::e5m2, Format::ue8m0, 32, 2, true},
      {"mx_float6_t", MmaKind::mxf8f6f4, Format::e2m3, Format::ue8m0, 32, 2, true},
      {"mx_float6_t", MmaKind::mxf8f6f4, Format::e3m2, Format::ue8m0, 32, 2, true},
      {"mx_float4_t", MmaKind::mxf8f6f4, Format::e2m1, Format::ue8m0, 32, 2, true},
      {"mx_float4_t", MmaKind::mxf4, Format::e2m1, Format::ue8m0, 32, 2, true},
      {"mx_float4_t", MmaKind::mxf4nvf4, Format::e2m1, Format::ue8m0, 32, 2, true},
      {"nv_float4_t", MmaKind::mxf4nvf4, Format::e2m1, Format::ue4m3, 16, 4, false},
      {"ue8m0 per 16", MmaKind::mxf4nvf4, Format::e2m1, Format::ue8m0, 16, 4, false},
  };
  int scaled = 0;
  for (const Instruction& inst : instructions::kTcgen05)
    scaled += inst.scale != Format::none && inst.a == inst.b ? 1 : 0;
  EXPECT_EQ(scaled, static_cast<int>(std::size(rows))) << "an instruction that no row is about";
  for (const Row& row : rows) {
    int listed = 0;
    for (const Instruction& inst : instructions::kTcgen05) {
      if (inst.kind != row.kind || inst.a != row.element || inst.b != row.element ||
          inst.scale != row.scale || inst.scale_block != row.group)
        continue;
      ++listed;
      EXPECT_EQ(64 / inst.scale_block, row.per_64) << row.printed;
      EXPECT_EQ(ocp_of(inst), row.ocp ? Ocp::mx : Ocp::differs) << row.printed;
    }
    EXPECT_EQ(listed, 1) << row.printed;
  }
}

}  // namespace
}  // namespace mmaudit::tmem
