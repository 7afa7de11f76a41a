#pragma once
// Which registers an instruction reads from which bank.
#include <array>
#include <cstddef>
#include <cstdint>

#include "mmaudit/sass/decode.hpp"
#include "mmaudit/timing/program.hpp"

namespace mmaudit::timing {

/// Of instructions one after the other.
class RegisterReads {
 public:
  /// Registers that instructions of the units of additions and integers read. `reuse`: of the control word.
  void add(const sass::Decoded& line, std::uint8_t reuse, TimedOp& op) {
    Kept kept = kNothingKept;
    if (op.unit == Unit::fma || op.unit == Unit::alu) {
      std::size_t slot = 0;
      for (std::size_t i = 1; i < line.operands.size() && slot < kept.size(); ++i) {
        const sass::Operand& operand = line.operands[i];
        if (operand.kind == sass::OperandKind::predicate || operand.text == "PR") continue;
        if (const int reg = operand.lane_register(); reg >= 0) {
          const auto bank = static_cast<std::size_t>(reg) % kRegisterBanks;
          const bool is_pair = slot == 2 && line.has(sass::Mark::wide);
          if (kept_[slot][bank] != reg) ++op.reads[bank];
          ++op.reads_alone[bank];
          if (is_pair) {
            ++op.reads[1 - bank];
            ++op.reads_alone[1 - bank];
          }
          if ((reuse >> slot & 1U) != 0) kept[slot][bank] = reg;
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
