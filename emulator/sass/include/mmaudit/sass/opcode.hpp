#pragma once
// What each opcode of SASS is: one row of one table. Its unit, what it does with memory, and what a walk
// computes of it.
#include <cstdint>
#include <optional>
#include <string_view>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::sass {

/// What an instruction occupies and how it flows: instructions of one kind cost alike.
enum class Kind : std::uint8_t {
  unknown,         ///< not in the table
  none,            ///< an issue slot alone
  drain,           ///< waits until the tensor unit is done with what the warp sent: wgmma.wait_group
  matrix,          ///< of the tensor unit, DMMA included
  load_shared,     ///< LDS
  load_matrices,   ///< LDSM
  store_shared,    ///< STS
  store_matrices,  ///< STSM
  shared_pipe,     ///< what else takes the pipe of shared memory
  global,          ///< global and local memory
  branch,          ///< BRA
  jump,            ///< JMP
  call,            ///< CALL
  back,            ///< RET
  addition,        ///< binary16 and binary32
  half_multiply,   ///< HFMA2
  half_matrix,     ///< HFMA2.MMA, which another unit takes
  conversion,      ///< of packed formats
  special,         ///< MUFU, POPC, conversions to and from integers
  multiply,        ///< integers
  uniform,         ///< one for all lanes
  binary64,        ///< DADD, DMUL, DFMA
  alu,             ///< integers, logic, comparisons
};

/// What an instruction does with memory and its block.
enum class Step : std::uint8_t {
  plain,
  shared,       ///< load or store of shared memory
  load,         ///< of global memory
  store,        ///< to global memory
  copy,         ///< cp.async (LDGSTS)
  commit,       ///< of copies (LDGDEPBAR)
  wait_copies,  ///< until all but so many groups are there (DEPBAR.LE SB0)
  barrier,      ///< of the block
  exit,
};

/// What a walk computes of an instruction.
enum class Work : std::uint8_t {
  none,
  multiply,
  add,
  shift,
  scale,    ///< LEA
  compare,  ///< ISETP
  combine,  ///< PLOP3
  from_local,
  to_local,
  move,
  first,  ///< R2UR
  zero,   ///< CS2R
  constant,
  logic,
  select,
  least,  ///< IMNMX
  half,   ///< HFMA2
};

/// What else is asked of an opcode.
enum class Trait : std::uint8_t {
  none,
  converts,      ///< formats; beside a matrix instruction it says that the unit lacks the type
  dpx,           ///< of the unit for dynamic programming
  any_memory,    ///< its address may be of shared memory
  not_followed,  ///< goes where no walk follows
};

struct Opcode {
  std::string_view name;
  Kind kind = Kind::unknown;
  Step step = Step::plain;
  Work work = Work::none;
  Trait trait = Trait::none;
};

/// What: the row of "IMAD.WIDE.U32": of the names that it starts with the longest. Step, work and trait are
/// of opcodes that have the name itself, and what follows a dot; an opcode of the uniform unit (UIADD3)
/// computes what the one without U does.
Opcode opcode_of(std::string_view opcode);
/// LDL, STL: registers that the compiler puts aside.
constexpr bool is_local(const Opcode& row) {
  return row.work == Work::from_local || row.work == Work::to_local;
}

/// "IMAD" of "IMAD.WIDE.U32".
constexpr std::string_view base_of(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }
constexpr bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Bytes of each lane's access: 16 of ".128".
int lane_bytes(std::string_view opcode);
/// Matrices of LDSM and STSM: 4 of ".4".
int matrices_of(std::string_view opcode);

/// The instruction of the model whose cost a matrix instruction has, by its shape and types; only what the
/// cost depends on is set. Nothing for other opcodes and for shapes that no GPU has.
std::optional<Instruction> matrix_instruction(std::string_view opcode);
/// Multiply-adds of a matrix instruction by its shape: 2048 of "HMMA.16816.F32", k of ".SP." in full; 0 for
/// other opcodes and for shapes that no GPU has.
double multiply_adds_of(std::string_view opcode);
/// In words: the shapes that GPUs have.
std::string_view matrix_shapes();

}  // namespace mmaudit::sass
