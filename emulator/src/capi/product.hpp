#pragma once
// The request for a matrix product as every function of the C interface takes it.
#include <cstdint>
#include <vector>

#include "guard.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/scaled_matmul.hpp"

namespace mmaudit::capi {

/// Checked except for its arrays.
struct Product {
  Instruction inst;
  const DatapathEntry* datapath = nullptr;
  Matmul problem;
  MatmulOptions options;
  ProductFactors factors;
  bool blocked = false;                        ///< the caller's scales are; the problem's never are
  std::vector<std::uint8_t> scale_a, scale_b;  ///< what blocked ones became
};

Product product_of(const mmaudit_product& work);

/// A, B, scales and metadata; C and D where they are read or written.
void take_operands(const mmaudit_product& work, Product& x, bool d);

}  // namespace mmaudit::capi
