#pragma once
// The model held to the reference on inputs spelled by bytes.
#include "mmaudit/instruction.hpp"
#include "mmaudit/model.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {

/// Fills two rows of A and two columns of B from `bytes` (modifiers, how elements are spelled, metadata,
/// scales, C, elements in the order of k) and fails unless emulate(), explain() and, where it can compute the
/// same, matmul() give the bits of the reference. `row` has to serve `instruction`.
void hold_to_reference(const Instruction& instruction, const AccumulatorModel& row, Bytes& bytes);

}  // namespace mmaudit::fuzz
