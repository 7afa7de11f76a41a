#pragma once
// The rules that an instruction reads, and every value that each can take.
#include <string>
#include <vector>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::probe {

/// A datapath with one rule at another value.
struct Change {
  std::string rule, value;
  Datapath datapath;
  int distance = 0;  ///< of a number: how far from the value before; 0: no number
};

/// Whether the arithmetic is defined: what the reader of --model would let through.
bool can_be(const Instruction& instruction, const Datapath& datapath);

/// Names of the rules that some input of the instruction could show, in the order of for_each_rule(); the
/// rule of metadata, which no file names, last.
std::vector<std::string> rules_read(const Instruction& instruction, const Datapath& datapath);

/// The value of a rule as files spell it.
std::string value_of(const Datapath& datapath, const std::string& rule);

/// Every datapath that differs from `datapath` in this one rule and can be computed. Least alignment
/// exponents: as far as products and results of the known formats reach.
std::vector<Change> changes_of(const Instruction& instruction, const Datapath& datapath,
                               const std::string& rule);

/// What the formats alone say: the arithmetic, the format of D and its fraction bits.
Datapath blank_datapath(const Instruction& instruction);

}  // namespace mmaudit::probe
