#pragma once
// The combination of rules that contradicts the fewest answers.
#include <cstddef>
#include <functional>
#include <string>

#include "changes.hpp"
#include "facts.hpp"

namespace mmaudit::probe {

struct Fit {
  Datapath datapath;
  std::size_t wrong = 0;  ///< contradicted answers
};

/// Told what is tried next and how many answers the best rules contradict. May be empty.
using Told = std::function<void(const std::string&)>;

/// Descent from `start`: one rule at a time, two where none alone helps, until no answer is contradicted or
/// nothing helps.
Fit improved(const Instruction& instruction, const Facts& facts, const Datapath& start, const Told& told);

/// The best descent from blank datapaths with few and with many fraction bits.
Fit first_fit(const Instruction& instruction, const Facts& facts, const Told& told);

/// The rules whose values change together: (order, block), (addend, sum_format), ...
bool divides_k(const Instruction& instruction, const Change& change);

}  // namespace mmaudit::probe
