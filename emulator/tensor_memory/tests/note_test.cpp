// The tables of P. Luo's note on Blackwell (sections 1.1 to 1.3), row by row, against the model. Where the
// note and the PTX ISA differ, or the note differs from itself, the row says so.
#include <cstring>

#include "mmaudit/model/architecture.hpp"
#include "programs.hpp"

namespace mmaudit::tmem {
namespace {

// Table 8: which memory each matrix may be in. An operand in brackets is in tensor memory.
TEST(Note, Table8PlacementOfEveryMatrix) {
  struct Row {
    const char *matrix, *tensor, *shared;  ///< the MMA with that matrix there; empty: not allowed
  };
  const auto runs = [](const std::string& mma, const std::string& idesc) {
    std::string text = test::prologue() +
                       "mov.b64 %rd1, 0x0000400800800100;\nmov.b64 %rd2, 0x0000400800400300;\nmov.b32 %r4, " +
                       idesc +
                       ";\nmov.b64 %rd3, 0x0000400800800800;\n"
                       "@%p2 tcgen05.cp.cta_group::1.128x256b [%r3+100], %rd3;\n@%p2 " +
                       mma + "\n" + test::commit_and_wait() + test::epilogue();
    text.insert(0, "//! shared words 0x8000 u8 1x4096 = zero\n");
    PtxProgram program;
    EXPECT_EQ(parse_ptx(text, program), "");
    program.fills[0].elements.assign(4096, 0x44);
    Machine machine(program, test::blackwell());
    return machine.run().empty();
  };
  const std::string f16 = "tcgen05.mma.cta_group::1.kind::f16 ",
                    sp = "tcgen05.mma.sp.cta_group::1.kind::f16 ",
                    scaled = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale ";
  // A: tensor memory or shared memory.
  EXPECT_TRUE(runs(f16 + "[%r3], [%r3+100], %rd2, %r4, %p3;", "0x08100010"));
  EXPECT_TRUE(runs(f16 + "[%r3], %rd1, %rd2, %r4, %p3;", "0x08100010"));
  // B: shared memory alone.
  EXPECT_FALSE(runs(f16 + "[%r3], %rd1, [%r3+100], %r4, %p3;", "0x08100010"));
  // D: tensor memory alone.
  EXPECT_FALSE(runs(f16 + "%rd3, %rd1, %rd2, %r4, %p3;", "0x08100010"));
  // Sparse metadata: tensor memory alone.
  EXPECT_TRUE(runs(sp + "[%r3], %rd1, %rd2, [%r3+100], %r4, %p3;", "0x08100014"));
  EXPECT_FALSE(runs(sp + "[%r3], %rd1, %rd2, %rd3, %r4, %p3;", "0x08100014"));
  // Scales of A and B: tensor memory alone.
  EXPECT_TRUE(runs(scaled + "[%r3], %rd1, %rd2, %r4, [%r3+100], [%r3+104], %p3;", "0x08900000"));
  EXPECT_FALSE(runs(scaled + "[%r3], %rd1, %rd2, %r4, %rd3, [%r3+104], %p3;", "0x08900000"));
}

// Table 9: the three forms of a convolution MMA. Form 3 of the note asks for .ashift and leaves the collector
// out; so does the PTX ISA.
TEST(Note, Table9FormsOfAConvolutionMma) {
  struct Row {
    bool a_in_tensor, ashift;
    const char* collector;  ///< empty: left out
    bool allowed;
  };
  const Row rows[] = {
      {false, false, "fill", true},    {false, false, "discard", true},
      {false, true, "discard", false},  // 1: a-desc, no .ashift
      {true, false, "fill", true},     {true, true, "discard", true},
      {true, true, "lastuse", false},  // 2: lastuse without a fill
      {true, true, "", true},          {true, true, "fill", false},
      {true, true, "use", false},  // 3
  };
  struct Kind {
    const char *name, *idesc;
  };
  for (const Kind kind :
       {Kind{"f16", "0x08100010"}, Kind{"tf32", "0x08100910"}, Kind{"f8f6f4", "0x08100010"}}) {
    for (const Row& row : rows) {
      const std::string collector = *row.collector == 0 ? "" : std::string(".collector::a::") + row.collector;
      std::string text =
          test::prologue() +
          "mov.b64 %rd1, 0x0000400800800100;\nmov.b64 %rd2, 0x0000400800400300;\nmov.b32 %r4, " + kind.idesc +
          ";\n@%p2 tcgen05.cp.cta_group::1.128x256b [%r3+100], %rd1;\nmov.u32 %r40, 1;\n@%p2 "
          "tcgen05.mma.cta_group::1.kind::" +
          kind.name + (row.ashift ? ".ashift" : "") + collector + " [%r3], " +
          (row.a_in_tensor ? "[%r3+100]" : "%rd1") + ", %rd2, %r4, {%r40, %r40, %r40, %r40}, %p3;\n" +
          test::commit_and_wait() + test::epilogue();
      const std::string reason = test::run_text(text);
      EXPECT_EQ(reason.empty(), row.allowed) << kind.name << row.ashift << row.collector << ": " << reason;
    }
  }
}

/// Products per step of a unit: the k of one tensor core and clock.
int step_of(const char* architecture, const char* name) {
  const auto inst = find_instruction(name);
  if (!inst) return 0;
  const DatapathEntry* const entry = find_datapath(*find_architecture(architecture), *inst);
  if (entry == nullptr) return 0;
  return entry->datapath.arithmetic == Arithmetic::integer ? inst->k : entry->datapath.products_per_step;
}

// Tables 10 and 11: m, n and k of one of the four tensor cores of an SM, and 4 * m * n * k FMA per clock.
TEST(Note, Tables10And11SizesAreTheStepsOfTheModel) {
  struct Row {
    const char *architecture, *instruction;
    int m, n, k, fma;  ///< per clock and SM
    bool k_is_a_step;  ///< false: the note's k is not how the datapath sums
  };
  const Row rows[] = {
      // The note prints 8 for Ampere's TF32; 1024 FMA of FP16 and half as many of TF32 make it 4.
      {"ampere", "mma.m16n8k8.f32.tf32.tf32.f32", 8, 4, 8, 1024, false},
      {"hopper", "wgmma.m64n64k8.f32.tf32.tf32", 8, 4, 8, 1024, true},
      {"ampere", "mma.m16n8k16.f32.f16.f16.f32", 8, 4, 8, 1024, true},
      {"hopper", "wgmma.m64n64k16.f32.f16.f16", 8, 4, 16, 2048, true},
      // Printed under Ampere, whose tensor cores have no FP8; Hopper's cell is blank.
      {"hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 8, 4, 32, 4096, true},
      {"ampere", "mma.m16n8k32.s32.s8.s8.s32", 8, 4, 16, 2048, false},
      {"hopper", "wgmma.m64n64k32.s32.s8.s8", 8, 4, 32, 4096, true},
      {"blackwell", "tcgen05.m128n64k8.kind_tf32.f32.tf32.tf32", 8, 8, 8, 2048, true},
      {"blackwell", "tcgen05.m128n64k16.kind_f16.f32.f16.f16", 8, 8, 16, 4096, true},
      {"blackwell", "tcgen05.m128n64k16.kind_f16.f32.bf16.bf16", 8, 8, 16, 4096, true},
      {"blackwell", "tcgen05.m128n64k32.kind_i8.s32.s8.s8", 8, 8, 32, 8192, true},
      {"blackwell", "tcgen05.m128n64k32.kind_f8f6f4.f32.e4m3.e2m1", 8, 8, 32, 8192, true},
      {"blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e2m3.ue8m0", 8, 8, 32, 8192,
       true},
      {"blackwell", "tcgen05.m128n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0", 8, 8, 64, 16384, true},
      {"blackwell", "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3", 8, 8, 64, 16384,
       true},
  };
  for (const Row& row : rows) {
    const int step = step_of(row.architecture, row.instruction);
    ASSERT_NE(step, 0) << row.instruction;
    EXPECT_EQ(step == row.k, row.k_is_a_step) << row.instruction << ": step " << step;
    EXPECT_EQ(4 * row.m * row.n * row.k, row.fma) << row.instruction;
  }
  // 1.3: Blackwell doubles Hopper, in f16, tf32 and 8-bit alike.
  EXPECT_EQ(rows[8].fma, 2 * rows[3].fma);
  EXPECT_EQ(rows[7].fma, 2 * rows[1].fma);
  EXPECT_EQ(rows[11].fma, 2 * rows[4].fma);
  EXPECT_EQ(rows[10].fma, 2 * rows[6].fma);
}

// Table 12: elements per scale; 1.3: 2 scales per 64 elements of mxf4, 4 of nvf4.
TEST(Note, Table12ElementsPerScale) {
  struct Row {
    MmaKind kind;
    Format element, scale;
    int group, per_64;
  };
  const Row rows[] = {
      {MmaKind::mxf8f6f4, Format::e4m3, Format::ue8m0, 32, 2},
      {MmaKind::mxf8f6f4, Format::e2m3, Format::ue8m0, 32, 2},
      {MmaKind::mxf4, Format::e2m1, Format::ue8m0, 32, 2},
      {MmaKind::mxf4nvf4, Format::e2m1, Format::ue4m3, 16, 4},
  };
  for (const Row& row : rows) {
    int listed = 0;
    for (const Instruction& inst : instructions::kTcgen05) {
      if (inst.kind != row.kind || inst.a != row.element || inst.b != row.element || inst.scale != row.scale)
        continue;
      ++listed;
      EXPECT_EQ(inst.scale_block, row.group);
      EXPECT_EQ(64 / inst.scale_block, row.per_64);
    }
    EXPECT_EQ(listed, 1) << name_of(row.element);
  }
}

}  // namespace
}  // namespace mmaudit::tmem
