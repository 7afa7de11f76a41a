#pragma once
// The model held to the reference on inputs spelled by bytes.
#include <string>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {

/// What: fills two rows of A and two columns of B from `bytes` (how elements are spelled, modifiers,
/// metadata, scales, C, elements in the order of k) and compares emulate(), explain() and, where it can
/// compute the same, matmul(), all of them by `model`, with the reference by `reference`. Both rows have to
/// serve `instruction`. Returns who differs on which bits; empty: none does.
std::string difference(const Instruction& instruction, const Datapath& model, const Datapath& reference,
                       Bytes& bytes);

/// fail() on a difference where both follow `row`.
void hold_to_reference(const Instruction& instruction, const Datapath& datapath, Bytes& bytes);

}  // namespace mmaudit::fuzz
