#define MMAUDIT_FAST_BYTES 16
#include "whole_level.hpp"

namespace mmaudit::fast {

const Level kPortable = kThisLevel;

}  // namespace mmaudit::fast
