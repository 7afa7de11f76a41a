#pragma once
// Products whose steps are trees of rounded binary32 operations, on a GPU. Declarations without CUDA syntax.
#include <cstdint>
#include <optional>

#include "mmaudit/dot.hpp"
#include "model/raw_product.hpp"

namespace mmaudit::device {

/// Steps of rounded_tree over binary16 or bfloat16, subnormals flushed, as AMD's CDNA2 has them.
struct TreeRules {
  bool half = false;       ///< elements are binary16; else bfloat16
  std::int32_t step = 0;   ///< products: 2 or 4
  std::int32_t depth = 0;  ///< of an instruction, which `step` divides
  std::uint32_t nan = 0;   ///< bits of D
};

/// nullopt when the kernel can't serve the datapath.
std::optional<TreeRules> tree_rules(const DotSpec& spec);

/// Of `args`, A, B, stride, slice and factors are not read.
void launch_trees(const TreeRules& rules, const RawProduct& product, const GemmArgs& args);

}  // namespace mmaudit::device
