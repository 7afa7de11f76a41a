#define MMAUDIT_FAST_BYTES 64
#include "kernel.hpp"
#include "pack.hpp"

namespace mmaudit::fast {

const Level kAvx512 = {pack_a, pack_b, multiply, fold, place};

}  // namespace mmaudit::fast
