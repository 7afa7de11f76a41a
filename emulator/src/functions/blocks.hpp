#pragma once
// Loops over many operands that a compiler makes vector code of.
#include <cstddef>
#include <cstdint>

#include "mmaudit/functions/evaluate.hpp"

// The program picks a clone for its processor when it starts: by level, since "arch=haswell" is that
// processor alone and no newer one.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#define MMAUDIT_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define MMAUDIT_CLONES
#endif

namespace mmaudit::functions {

/// `count` results; where `ordinary` is 0 evaluate() has to find the result.
using Block = void (*)(const std::uint32_t* x, std::uint32_t* result, std::uint32_t* ordinary,
                       std::size_t count);
/// Of CUDA's chains; null: there is none.
Block chain_block_for(Id id);

}  // namespace mmaudit::functions
