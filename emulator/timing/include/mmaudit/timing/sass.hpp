#pragma once
// The disassembly of a kernel (cuobjdump -sass, or nvdisasm -hex) with the control words that its encodings
// hold, and the loop of it as a program for the timing model.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/program.hpp"

namespace mmaudit::timing {

/// What an instruction of Volta or later says about scheduling, bits 105 to 125 of its encoding. Source:
/// Huerta et al., arXiv 2503.20481; Jia et al., arXiv 1804.06826, section 2.1.
struct ControlWord {
  std::uint8_t stall = 0;
  bool yield = false;
  std::int8_t write_barrier = -1, read_barrier = -1;  ///< -1: none
  std::uint8_t wait_mask = 0, reuse = 0;
  constexpr bool operator==(const ControlWord&) const = default;
};

/// The control word in the upper half of an encoding.
ControlWord control_word_of(std::uint64_t upper);

struct SassLine {
  std::uint32_t address = 0;
  std::string predicate, opcode, operands;
  ControlWord control;
  std::size_t number = 0;  ///< of the line in the file, from 1
};

struct SassFunction {
  std::string target;  ///< "sm_90a"
  std::string name;    ///< as the file has it
  std::vector<SassLine> lines;
};

/// What: every function of a disassembly. Range: at most 1,000,000 instructions in all. Errors:
/// std::invalid_argument with the line where an instruction has no encoding, or the file holds none.
std::vector<SassFunction> read_sass(std::string_view text);

/// What: every function of a listing as docs/experiments/whole/listing.py writes it. Errors:
/// std::invalid_argument with the line.
std::vector<SassFunction> read_listing(std::string_view text, std::string_view target);

/// An immediate: "0x1f", "-0x1f" and "0xffffffe1" alike; 0 where there is no number.
std::int32_t sass_number(std::string_view text);
/// The operands of "R4, R4.reuse, 0x10" without blanks.
std::vector<std::string_view> sass_operands(std::string_view text);
/// By how much an addition of a constant to its own register moves it, up or down; 0 for every other
/// instruction.
std::int32_t counter_step(std::string_view opcode, std::string_view operands);

/// How to run a loop whose instructions alone do not say it.
struct SassOptions {
  int conflict_ways = 0;  ///< of each LDS; 0: as few as its width needs
};

/// What: the loop of a function that holds most instructions of the tensor unit, else of shared memory, else
/// most instructions, of those between the last two readings of the clock where there are two; calls are
/// followed. Its branches: the last one is taken until the trips are over, forward ones with a predicate
/// are not taken, others are. `steps` is by how much the loop's counter moves. Errors: std::invalid_argument,
/// in one clause, where there is no loop, or with the line of a matrix instruction of a shape that no GPU
/// has. `work` is 0, and a note says why, where the machine has no unit for a matrix instruction of the loop.
Program program_of(const Machine& machine, const SassFunction& function, const SassOptions& options = {});

/// What: every instruction of a function, one op per line, for a whole kernel (kernel.hpp). Errors: as above.
Program whole_program_of(const Machine& machine, const SassFunction& function);

/// Multiply-adds of a matrix instruction by its shape: 2048 of "HMMA.16816.F32", k of ".SP." in full; 0 for
/// other opcodes and for shapes that no GPU has.
double multiply_adds_of(std::string_view opcode);

}  // namespace mmaudit::timing
