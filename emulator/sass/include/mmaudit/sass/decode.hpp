#pragma once
// A line of SASS as numbers: its operands, its predicate, and the parts of its opcode.
#include <cstdint>
#include <string_view>
#include <vector>

#include "mmaudit/sass/opcode.hpp"
#include "mmaudit/sass/text.hpp"

namespace mmaudit::sass {

inline constexpr int kZero = 255, kUniform = 256, kUniformZero = kUniform + 63, kAllRegisters = kUniform + 64;
inline constexpr int kTrue = 7, kUniformPredicates = 8, kAllPredicates = 16;

enum class OperandKind : std::uint8_t { none, reg, predicate, number, constant, special, address };
struct Operand {
  OperandKind kind = OperandKind::none;
  bool negative = false, inverted = false;  ///< -R; ~R or !P
  std::int16_t index = 0;                   ///< register (uniform ones from 256 on), predicate
  std::int16_t second = -1;                 ///< of an address: a further register
  bool wide = false;                        ///< of an address: the register and the next one
  std::int64_t value = 0;                   ///< number, place in the bank of constants, offset
  std::string_view text;                    ///< of a special register, and "PR": all predicates

  /// R0 to R254; -1: something else.
  [[nodiscard]] int lane_register() const { return kind == OperandKind::reg && index < kZero ? index : -1; }
};

/// Parts of an opcode.
enum class Mark : std::uint8_t {
  wide,         ///< .WIDE
  pair,         ///< C.64
  has_32,       ///< .32
  has_64,       ///< 64
  mma,          ///< .MMA
  is_unsigned,  ///< .U32
  is_signed,    ///< .S32
  extended,     ///< .X
  high,         ///< .HI
  sx32,         ///< .SX32
  left,         ///< .L
  ex,           ///< .EX
  joins_by_or,  ///< .OR
};
enum class Relation : std::uint8_t { none, ge, gt, le, lt, eq, ne };

/// A line, read once; its texts are those of the line.
struct Decoded {
  std::string_view opcode;
  Opcode row;
  std::vector<Operand> operands;  ///< of a branch none
  int predicate = kTrue;
  bool not_predicate = false;
  std::uint16_t marks = 0;  ///< a bit each
  Relation relation = Relation::none;
  int bytes = 4;             ///< of a lane's access
  std::int64_t target = -1;  ///< address of a branch
  [[nodiscard]] bool has(Mark mark) const { return (marks >> static_cast<unsigned>(mark) & 1U) != 0; }
};
Decoded decode(const Line& line);

/// An immediate: "0x1f", "-0x1f" and "0xffffffe1" alike; 0 where there is no number.
std::int32_t number_of(std::string_view text);

/// By how much an addition of a constant to its own register moves it, up or down; 0 for every other
/// instruction.
std::int32_t counter_step(const Line& line);

}  // namespace mmaudit::sass
