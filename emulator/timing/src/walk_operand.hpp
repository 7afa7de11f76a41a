#pragma once
// Operands of SASS as numbers of registers, for the walk.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mmaudit/timing/sass.hpp"
#include "mmaudit/timing/walk.hpp"

namespace mmaudit::timing {

inline constexpr int kLanes = 32;
inline constexpr int kZero = 255, kUniform = 256, kUniformZero = kUniform + 63, kAllRegisters = kUniform + 64;
inline constexpr int kTrue = 7, kUniformPredicates = 8, kAllPredicates = 16;

struct WalkOperand {
  enum class Kind : std::uint8_t { none, reg, predicate, number, constant, special, address };
  Kind kind = Kind::none;
  bool negative = false, inverted = false;  ///< -R; ~R or !P
  std::int16_t index = 0;                   ///< register (uniform ones from 256 on), predicate
  std::int16_t second = -1;                 ///< of an address: a further register
  bool wide = false;                        ///< of an address: the register and the next one
  std::int64_t value = 0;                   ///< number, place in the bank of constants, offset
  std::string_view text;                    ///< of a special register
};

/// What the walk computes, by the first part of the opcode.
enum class Work : std::uint8_t {
  none,
  multiply,  ///< IMAD
  add,       ///< IADD3, VIADD
  shift,     ///< SHF
  scale,     ///< LEA
  compare,   ///< ISETP
  combine,   ///< PLOP3
  from_local,
  to_local,
  move,   ///< MOV, S2R, S2UR
  first,  ///< R2UR
  zero,   ///< CS2R
  constant,
  logic,  ///< LOP3
  select,
  least,  ///< IMNMX
  half,   ///< HFMA2
};

/// Parts of an opcode, as bits.
enum class Mark : std::uint16_t {
  wide = 1,            ///< .WIDE
  pair = 2,            ///< C.64
  has_32 = 4,          ///< .32
  has_64 = 8,          ///< 64
  mma = 16,            ///< .MMA
  is_unsigned = 32,    ///< .U32
  is_signed = 64,      ///< .S32
  extended = 128,      ///< .X
  high = 256,          ///< .HI
  sx32 = 512,          ///< .SX32
  left = 1024,         ///< .L
  ex = 2048,           ///< .EX
  joins_by_or = 4096,  ///< .OR
};
enum class Relation : std::uint8_t { none, ge, gt, le, lt, eq, ne };

/// A line, read once.
struct WalkLine {
  std::string_view opcode, base;  ///< "IADD3.X", "IADD3": without U and without what follows a dot
  std::vector<WalkOperand> operands;
  int predicate = kTrue;
  bool not_predicate = false;
  Step step{};
  Work work = Work::none;
  std::uint16_t marks = 0;
  Relation relation = Relation::none;
  int bytes = 4;  ///< of a lane's access
  bool is_branch = false, is_local = false;
  [[nodiscard]] bool has(Mark mark) const { return (marks & static_cast<unsigned>(mark)) != 0; }
  std::int64_t target = -1;  ///< address of a branch
};

WalkLine walk_line(const SassLine& line);

}  // namespace mmaudit::timing
