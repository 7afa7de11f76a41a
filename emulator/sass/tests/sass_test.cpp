// Disassemblies as cuobjdump 13.0 prints them: lines, operands, and what an opcode is.
#include <gtest/gtest.h>

#include <map>

#include "mmaudit/error.hpp"
#include "mmaudit/sass/decode.hpp"
#include "mmaudit/sass/opcode.hpp"
#include "mmaudit/sass/text.hpp"

namespace mmaudit::sass {
namespace {

Line line_of(const char* opcode, const char* operands, const char* predicate = "") {
  return {.address = 0,
          .predicate = predicate,
          .opcode = opcode,
          .operands = operands,
          .control = {},
          .number = 1};
}

TEST(Opcode, OfTheNamesThatItStartsWithTheLongest) {
  const std::map<std::string_view, Kind> kinds = {{"HMMA.16816.F32", Kind::matrix},
                                                  {"HGMMA.64x256x16.F32", Kind::matrix},
                                                  {"WARPGROUP.ARRIVE", Kind::none},
                                                  {"WARPGROUP.DEPBAR.LE", Kind::drain},
                                                  {"LDS.128", Kind::load_shared},
                                                  {"LDSM.16.M88.4", Kind::load_matrices},
                                                  {"STSM.16.M88.2", Kind::store_matrices},
                                                  {"SHFL.DOWN", Kind::shared_pipe},
                                                  {"SHF.R.U32.HI", Kind::alu},
                                                  {"LDG.E.128", Kind::global},
                                                  {"LDGSTS.E.BYPASS.128", Kind::global},
                                                  {"LDGDEPBAR", Kind::none},
                                                  {"LDTM", Kind::unknown},
                                                  {"F2FP.BF16.F32.PACK_AB", Kind::conversion},
                                                  {"F2F.F32.F64", Kind::special},
                                                  {"FADD2", Kind::addition},
                                                  {"UIADD3", Kind::uniform},
                                                  {"S2UR", Kind::uniform},
                                                  {"S2R", Kind::shared_pipe},
                                                  {"IADD32I", Kind::alu},
                                                  {"VIMNMX3", Kind::alu},
                                                  {"BRX", Kind::unknown},
                                                  {"FROB.X", Kind::unknown}};
  for (const auto& [opcode, kind] : kinds) EXPECT_EQ(opcode_of(opcode).kind, kind) << opcode;
}

TEST(Opcode, WhatItDoesIsOfTheNameItself) {
  EXPECT_EQ(opcode_of("IADD3.X").work, Work::add);
  EXPECT_EQ(opcode_of("UIADD3.X").work, Work::add) << "as without U";
  EXPECT_EQ(opcode_of("IADD32I").work, Work::none);
  EXPECT_EQ(opcode_of("LDG.E").step, Step::load);
  EXPECT_EQ(opcode_of("LDGSTS.E.128").step, Step::copy);
  EXPECT_EQ(opcode_of("DEPBAR.LE").step, Step::wait_copies);
  EXPECT_EQ(opcode_of("I2F.U32").trait, Trait::converts);
  EXPECT_EQ(opcode_of("I2FP.F32.S32").trait, Trait::none);
  EXPECT_EQ(opcode_of("VIADDMNMX.RELU").trait, Trait::dpx);
  EXPECT_TRUE(is_local(opcode_of("LDL.LU")));
  EXPECT_FALSE(is_local(opcode_of("LDS.64")));
}

TEST(Opcode, MatrixInstructionsHaveShapesAndTypes) {
  const auto int4 = matrix_instruction("IMMA.SP.16864.S4.S4");
  ASSERT_TRUE(int4);
  EXPECT_EQ(int4->op, Op::mma_sp);
  EXPECT_EQ(int4->a, Format::s4);
  EXPECT_EQ(int4->k, 64);
  EXPECT_EQ(matrix_instruction("IMMA.SP.16864.S8.S8")->a, Format::s8);
  EXPECT_EQ(matrix_instruction("QGMMA.64x16x32.F32.E4M3.E4M3")->a, Format::e4m3);
  EXPECT_EQ(matrix_instruction("HMMA.1688.F32.TF32")->a, Format::tf32);
  EXPECT_EQ(matrix_instruction("HMMA.1688.F16")->d, Format::f16);
  EXPECT_FALSE(matrix_instruction("FFMA"));
}

TEST(Decode, EachKindOfOperand) {
  const Line line = line_of(
      "FROB", "R4, -R8.reuse, |R12|, -|R13|, ~UR3, !P2, UPT, c[0x0][0x210], -0x10, SR_TID.X, URZ", "!P1");
  const Decoded decoded = decode(line);
  EXPECT_EQ(decoded.predicate, 1);
  EXPECT_TRUE(decoded.not_predicate);
  ASSERT_EQ(decoded.operands.size(), 11U);
  const auto at = [&](std::size_t i) -> const Operand& { return decoded.operands[i]; };
  EXPECT_EQ(at(0).lane_register(), 4);
  EXPECT_EQ(at(1).lane_register(), 8);
  EXPECT_TRUE(at(1).negative);
  EXPECT_EQ(at(2).lane_register(), 12);
  EXPECT_EQ(at(3).lane_register(), 13);
  EXPECT_TRUE(at(3).negative);
  EXPECT_EQ(at(4).index, kUniform + 3);
  EXPECT_EQ(at(4).lane_register(), -1);
  EXPECT_TRUE(at(4).inverted);
  EXPECT_EQ(at(5).kind, OperandKind::predicate);
  EXPECT_EQ(at(5).index, 2);
  EXPECT_EQ(at(6).index, kUniformPredicates + kTrue);
  EXPECT_EQ(at(7).kind, OperandKind::constant);
  EXPECT_EQ(at(7).value, 0x210);
  EXPECT_EQ(at(8).value, -16);
  EXPECT_EQ(at(9).text, "SR_TID.X");
  EXPECT_EQ(at(10).index, kUniformZero);
}

TEST(Decode, AddressesAndParts) {
  const Line line = line_of("LDG.E.128", "R4, desc[UR6][R2.64+UR4+0x80]");
  const Decoded load = decode(line);
  EXPECT_EQ(load.bytes, 16);
  const Operand& address = load.operands.at(1);
  EXPECT_EQ(address.kind, OperandKind::address);
  EXPECT_EQ(address.index, 2);
  EXPECT_TRUE(address.wide);
  EXPECT_EQ(address.second, kUniform + 4);
  EXPECT_EQ(address.value, 0x80);
  const Line compare = line_of("ISETP.GE.U32.OR", "P0, PT, R2, 0x1, PT");
  EXPECT_EQ(decode(compare).relation, Relation::ge);
  EXPECT_TRUE(decode(compare).has(Mark::is_unsigned));
  EXPECT_TRUE(decode(compare).has(Mark::joins_by_or));
  EXPECT_FALSE(decode(compare).has(Mark::wide));
  const Line branch = line_of("BRA", "0x1f0", "P0");
  EXPECT_EQ(decode(branch).target, 0x1f0);
}

TEST(Decode, CountersMoveByAConstant) {
  EXPECT_EQ(counter_step(line_of("IADD3", "R4, R4, 0x10, RZ")), 16);
  EXPECT_EQ(counter_step(line_of("VIADD", "R4, R4, 0xfffffff8")), 8);
  EXPECT_EQ(counter_step(line_of("UIADD3", "UR4, UPT, UPT, UR4, 0x10, URZ")), 16) << "Blackwell";
  EXPECT_EQ(counter_step(line_of("IMAD.IADD", "R4, R4, 0x1, R5")), 1);
  EXPECT_EQ(counter_step(line_of("IADD3", "R4, R5, 0x10, RZ")), 0) << "of another register";
  EXPECT_EQ(counter_step(line_of("IADD3", "R4, P0, R4, 0x10, RZ")), 0) << "half of an address";
  EXPECT_EQ(counter_step(line_of("IADD3.X", "R4, R4, 0x10, RZ")), 0);
  EXPECT_EQ(counter_step(line_of("IMAD", "R4, R4, 0x10, RZ")), 0);
}

constexpr const char* kText[] = {"\tcode for sm_80\r\n",
                                 "\t\tFunction : first\r\n",
                                 "        /*0000*/                   @!P0 BRA 0x20 ;   /* 0x1 */\r\n",
                                 "        /*0010*/                   CALL.REL.NOINC 0x30 ;\n",
                                 "        /*0020*/                   EXIT ;\n",
                                 "        /*0030*/                   RET.REL.NODEC R2 0x0 ;\n",
                                 "\tcode for sm_90a\n",
                                 "\t\tFunction : second\n",
                                 "        /*0000*/                   CS2R R8, SR_CLOCKLO ;\n"};

TEST(Reader, HandsOverAFunctionWhenItEnds) {
  Reader reader(Reader::Encodings::passed_over);
  std::vector<Function> functions;
  for (const char* text : kText)
    if (auto function = reader.line(text)) functions.push_back(std::move(*function));
  ASSERT_EQ(functions.size(), 1U);
  const Function& first = functions.front();
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.target, "sm_80");
  ASSERT_EQ(first.lines.size(), 4U);
  EXPECT_EQ(first.lines[0].predicate, "!P0");
  EXPECT_EQ(first.lines[0].opcode, "BRA");
  EXPECT_EQ(first.lines[0].operands, "0x20");
  EXPECT_EQ(first.lines[3].number, 6U);
  EXPECT_EQ(first.index_of(first.lines[1].target()), 3);
  EXPECT_EQ(first.index_of(0x18), -1);
  EXPECT_EQ(first.return_from(1), 3);
  const auto second = reader.finish();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->target, "sm_90a");
  EXPECT_EQ(second->clock_readings(), std::vector<int>{0});
  EXPECT_EQ(second->return_from(0), 1) << "none: behind the last line";
  EXPECT_FALSE(reader.finish());
}

TEST(Reader, NeedsEncodingsWhereItIsToldTo) {
  std::string text;
  for (const char* line : kText) text += line;
  try {
    read(text);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "line 3: found an instruction without its encoding, allowed: the output of cuobjdump -sass");
  }
}

}  // namespace
}  // namespace mmaudit::sass
