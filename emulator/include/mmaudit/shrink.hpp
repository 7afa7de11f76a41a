#pragma once
// A dot product that fails, made as simple as a person would make it.
#include <cstddef>
#include <functional>
#include <span>

#include "mmaudit/dot_case.hpp"

namespace mmaudit {

/// Index of the first of some dot products that still fails; their number when none does.
using FirstFailing = std::function<std::size_t(std::span<const DotCase>)>;

/// What: the simplest dot product found that still fails: fewest non-zero products, then scales of 1, least
/// significands and exponents nearest to the exponent of 1. Greedy: of the simpler ones that `first_failing`
/// is asked about, simplest first, the first that fails is taken, until none does or 400 were. `dot` itself
/// is not asked about. Metadata and modifiers stay.
DotCase shrink_dot(const Instruction& instruction, DotCase dot, const FirstFailing& first_failing);

}  // namespace mmaudit
