#pragma once
// The model a second time, slowly: arbitrary-precision integers, written from the text of docs/numerics.md
// and the comments of model.hpp. It shares the tables of the emulator (formats, rows) and none of its
// arithmetic, so that a slip in either shows as a difference.
#include <cstdint>
#include <span>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/oracles/exact.hpp"

namespace mmaudit::oracle {

/// What: D = sum_k a[k]*b[k] + c for one element, under every rule of `row`; block-scaled with `scales`.
/// Shapes: a and b hold instruction.k elements, raw bits in storage width; c is raw bits of C's format. Of a
/// sparse instruction a and `metadata` (the position of each inside its group) hold the stored elements.
/// `modifiers` is a set of Modifier bits; negation is ignored by fma_chain (only wgmma has it).
/// Range and rounding: any bit pattern; rounding is the row's. Errors: none. Source: docs/numerics.md.
std::uint64_t reference_dot(const Instruction& instruction, const Datapath& datapath,
                            std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                            std::uint64_t c, unsigned modifiers = 0, ScaleSpans scales = {},
                            std::span<const std::uint8_t> metadata = {});

}  // namespace mmaudit::oracle
