#define MMAUDIT_FAST_BYTES 64
#include "registers_level.hpp"

namespace mmaudit::fast {

double in_registers_avx512(const Rules& rules, int count, int per_instruction, int steps) {
  return in_registers(rules, count, per_instruction, steps);
}

}  // namespace mmaudit::fast
