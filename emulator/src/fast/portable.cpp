#define MMAUDIT_FAST_BYTES 16
#include "kernel.hpp"
#include "pack.hpp"

namespace mmaudit::fast {

const Level kPortable = {pack_a, pack_b, multiply, fold, place};

}  // namespace mmaudit::fast
