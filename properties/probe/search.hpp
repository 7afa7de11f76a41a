#pragma once
// The combination of rules that contradicts the fewest answers.
#include <cstddef>

#include "changes.hpp"
#include "facts.hpp"

namespace mmaudit::probe {

struct Fit {
  Datapath datapath;
  std::size_t wrong = 0;  ///< contradicted answers
};

/// Descent from `start`: one rule at a time, two where none alone helps, until no answer is contradicted or
/// nothing helps.
Fit improved(const Instruction& instruction, const Facts& facts, const Datapath& start);

/// The best descent from blank datapaths with few and with many fraction bits.
Fit first_fit(const Instruction& instruction, const Facts& facts);

/// The rules whose values change together: (order, block), (addend, sum_format), ...
bool divides_k(const Instruction& instruction, const Change& change);

}  // namespace mmaudit::probe
