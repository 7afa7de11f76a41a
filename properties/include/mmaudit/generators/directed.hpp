#pragma once
// Directed dot products: inputs built so that neighbouring models give different bits. They scan the
// neighbourhood of a row's own F and floor, and answer each open question with the vector that decides it.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/dot.hpp"

namespace mmaudit::gen {

/// One dot product. Sizes: a and b hold k raw bit patterns, the scales a byte a block (none where there are
/// none).
struct DirectedDot {
  std::string question;  ///< what it decides, e.g. "floor", "fraction_bits", "order"
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::vector<std::uint8_t> scale_a{}, scale_b{};
};

/// Every directed case that `instruction` can express. Deterministic. `row` says where to look, not what to
/// expect.
std::vector<DirectedDot> directed_dots(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::gen
