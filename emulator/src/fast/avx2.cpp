#define MMAUDIT_FAST_BYTES 32
#include "binary64_kernel.hpp"
#include "group_kernel.hpp"
#include "integer_kernel.hpp"
#include "kernel.hpp"
#include "pack.hpp"

namespace mmaudit::fast {

const Level kAvx2 = {pack_a,
                     pack_b,
                     multiply,
                     fold,
                     place,
                     pack_group_a,
                     pack_group_b,
                     multiply_groups,
                     multiply_integers,
                     multiply_binary64};

}  // namespace mmaudit::fast
