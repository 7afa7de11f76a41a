#pragma once
// Which registers an instruction reads from which bank.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <vector>

#include "mmaudit/timing/sass.hpp"

namespace mmaudit::timing {

/// "R12.reuse": 12; RZ, UR4 and everything else: -1.
inline int register_at(std::string_view part) {
  if (part.starts_with('-') || part.starts_with('|')) part.remove_prefix(1);
  if (part.size() < 2 || part[0] != 'R' || part[1] < '0' || part[1] > '9') return -1;
  int value = -1;
  std::from_chars(part.data() + 1, part.data() + part.size(), value);
  return value;
}

/// Of instructions one after the other.
class RegisterReads {
 public:
  /// Registers that instructions of the units of additions and integers read.
  void add(const SassLine& one, TimedOp& op) {
    Kept kept = kNothingKept;
    if (op.unit == Unit::fma || op.unit == Unit::alu) {
      const std::vector<std::string_view> parts = sass_operands(one.operands);
      std::size_t slot = 0;
      for (std::size_t i = 1; i < parts.size() && slot < kept.size(); ++i) {
        std::string_view part = parts[i];
        if (part.find('P') <= 2 && part.find('P') == part.find_first_not_of("!U")) continue;
        part.remove_prefix(std::min(part.find_first_not_of("-~|!"), part.size()));
        if (const int reg = register_at(part); reg >= 0) {
          const auto bank = static_cast<std::size_t>(reg) % kRegisterBanks;
          const bool is_pair = slot == 2 && one.opcode.find(".WIDE") != std::string::npos;
          if (kept_[slot][bank] != reg) ++op.reads[bank];
          ++op.reads_alone[bank];
          if (is_pair) {
            ++op.reads[1 - bank];
            ++op.reads_alone[1 - bank];
          }
          if ((one.control.reuse >> slot & 1U) != 0) kept[slot][bank] = reg;
        }
        ++slot;
      }
    }
    kept_ = kept;
  }

 private:
  /// Of each operand and bank: the register that the last line keeps; -1: none.
  using Kept = std::array<std::array<int, kRegisterBanks>, 3>;
  static constexpr Kept kNothingKept = {{{-1, -1}, {-1, -1}, {-1, -1}}};
  Kept kept_ = kNothingKept;
};

}  // namespace mmaudit::timing
