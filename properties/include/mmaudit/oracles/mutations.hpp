#pragma once
// Rows with one rule changed. A check is only worth something if it tells these from the row itself.
#include <string>
#include <vector>

#include "mmaudit/model.hpp"

namespace mmaudit::oracle {

struct Mutation {
  std::string name;  ///< "floor - 1", "zero: operand exponent", ...
  AccumulatorModel row;
};

/// Every row that differs from `row` in one rule or by one unit of one number. A fma_chain row gives only the
/// rules that a fma_chain reads (model.hpp says which).
std::vector<Mutation> single_rule_mutations(const AccumulatorModel& row);

}  // namespace mmaudit::oracle
