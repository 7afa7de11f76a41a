#pragma once
// Elements of a product that the model computes too.
#include <cstdint>
#include <vector>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::sweeps {

/// Rows and columns of D whose crossings are compared: spread over all tiles and all places in a tile.
inline constexpr int kSampledRows = 16;
std::vector<int> sampled_rows(int size);

/// What: the model's D at the crossings, (row, column) in the order of sampled_rows(size), bits of binary32;
/// operands as gemm_value() makes them. Empty when the architecture has no row for the instruction.
std::vector<std::uint32_t> model_samples(int compute_capability, const Instruction& instruction, int size);

}  // namespace mmaudit::sweeps
