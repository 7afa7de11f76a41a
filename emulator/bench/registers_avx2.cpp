#define MMAUDIT_FAST_BYTES 32
#include "registers_level.hpp"

namespace mmaudit::fast {

double in_registers_avx2(const Rules& rules, int count, int per_instruction, int steps) {
  return in_registers(rules, count, per_instruction, steps);
}

}  // namespace mmaudit::fast
