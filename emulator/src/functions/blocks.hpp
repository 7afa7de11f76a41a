#pragma once
// Loops over many operands that a compiler makes vector code of.
#include <cstddef>
#include <cstdint>

#include "mmaudit/detail/clones.hpp"
#include "mmaudit/functions/evaluate.hpp"
#include "mmaudit/functions/lines.hpp"

namespace mmaudit::functions {

/// folded_lines(), made when the program starts: as a constant it takes the compiler three seconds.
extern const Lines kLines;

/// `count` results; where `ordinary` is 0 evaluate() has to find the result.
using Block = void (*)(const std::uint32_t* x, std::uint32_t* result, std::uint32_t* ordinary,
                       std::size_t count);
/// Of CUDA's chains; null: there is none.
Block chain_block_for(Id id);

}  // namespace mmaudit::functions
