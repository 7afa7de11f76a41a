#pragma once
// How much the tensor cores of an SM multiply per clock. Only generations whose published sizes fit the
// datapaths are here: their k is the datapath's products per step.
#include <optional>
#include <string_view>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

/// A tensor core multiplies A (m x k) by B (k x n) per clock. k depends on the instruction.
struct TensorCores {
  std::string_view architecture;
  std::string_view before;  ///< the generation that ratios compare with; empty: none
  int per_sm, m, n;
  std::string_view source;
};

// Turing's published 4x4x4 (Sun et al. 2023, Table 1) contradicts the 8 products per step of its datapath. No
// source gives m and n of GA10x, Ada and Blackwell RTX.
inline constexpr TensorCores kTensorCores[] = {
    {"volta", "", 8, 4, 4, "Sun et al. 2023, Table 1; Raihan et al. 2019, II-D"},
    {"ampere", "volta", 4, 8, 4, "P. Luo's note on Blackwell, Table 10; Sun et al. 2023, Table 1"},
    {"hopper", "ampere", 4, 8, 4,
     "P. Luo's note on Blackwell, Table 10; cores per SM: Sun et al. 2023, Table 1"},
    {"blackwell", "hopper", 4, 8, 8, "P. Luo's note on Blackwell, Table 11; cores per SM: 1.1.2"},
};

/// Null where no source gives the sizes.
const TensorCores* find_tensor_cores(std::string_view architecture);

/// k of 8-bit integers is this many times the k of f16. Their exact sums have no steps that results could
/// show. Source: P. Luo's note on Blackwell, Tables 10 and 11; A100 also Sun et al. 2023, note of Table 3.
inline constexpr int kInt8DepthOverF16 = 2;

/// k of one tensor core and clock: the products per step of the datapath; of 8-bit integers as above. Nothing
/// for sparse instructions, binary64, 4-bit integers, single bits, code without a unit, and generations
/// without sizes.
std::optional<int> core_depth(const Architecture& architecture, const Instruction& instruction);

/// Multiply-adds per clock per SM of a core depth.
constexpr int fma_per_clock(const TensorCores& cores, int k) { return cores.per_sm * cores.m * cores.n * k; }

}  // namespace mmaudit
