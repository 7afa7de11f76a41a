#define MMAUDIT_FAST_BYTES 16
#include "group_kernel.hpp"

namespace mmaudit::fast {

const GroupLevel kPortableGroups = kGroupsOfThisLevel;

}  // namespace mmaudit::fast
