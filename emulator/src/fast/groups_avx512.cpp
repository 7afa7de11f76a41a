#define MMAUDIT_FAST_BYTES 64
#include "group_kernel.hpp"

namespace mmaudit::fast {

const GroupLevel kAvx512Groups = kGroupsOfThisLevel;

}  // namespace mmaudit::fast
