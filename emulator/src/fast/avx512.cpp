#define MMAUDIT_FAST_BYTES 64
#include "whole_level.hpp"

namespace mmaudit::fast {

const Level kAvx512 = kThisLevel;

}  // namespace mmaudit::fast
