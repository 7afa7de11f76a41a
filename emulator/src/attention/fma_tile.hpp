#pragma once
// Products of binary32 that add one fma after another, as cores without a tensor unit do.
#include <memory>

#include "tile/tile_sums.hpp"

namespace mmaudit::attention_rows {

/// Sums start at +0; k ascends.
std::unique_ptr<TileSums> fma_tile(const Matmul& product);
void fma_product(const Matmul& product);

}  // namespace mmaudit::attention_rows
