#pragma once
// All that a level is made of. Included by the level's one source, which has set MMAUDIT_FAST_BYTES.
#include "binary64_kernel.hpp"
#include "integer_kernel.hpp"
#include "kernel.hpp"
#include "pack.hpp"
#include "row_kernel.hpp"
#include "staged_kernel.hpp"

namespace mmaudit::fast {
namespace {

constexpr Level kThisLevel = {pack_a,
                              pack_b,
                              multiply_any,
                              fold,
                              place,
                              multiply_integers,
                              multiply_binary64,
                              {cast_rows, largest_of_rows}};

}  // namespace
}  // namespace mmaudit::fast
