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

/// A line, read once.
struct WalkLine {
  std::string_view opcode, base;  ///< "IADD3.X", "IADD3": without U and without what follows a dot
  std::vector<WalkOperand> operands;
  int predicate = kTrue;
  bool not_predicate = false;
  Step step{};
  std::int64_t target = -1;  ///< address of a branch
};

WalkLine walk_line(const SassLine& line);

}  // namespace mmaudit::timing
