#define MMAUDIT_FAST_BYTES 32
#include "group_kernel.hpp"

namespace mmaudit::fast {

const GroupLevel kAvx2Groups = kGroupsOfThisLevel;

}  // namespace mmaudit::fast
