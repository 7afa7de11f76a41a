#define MMAUDIT_FAST_BYTES 64
#include "group_kernel.hpp"

namespace mmaudit::fast {

const GroupLevel kAvx512VnniGroups = kGroupsOfThisLevel;

}  // namespace mmaudit::fast
