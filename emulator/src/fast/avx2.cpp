#define MMAUDIT_FAST_BYTES 32
#include "whole_level.hpp"

namespace mmaudit::fast {

const Level kAvx2 = kThisLevel;

}  // namespace mmaudit::fast
