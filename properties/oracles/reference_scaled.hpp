#pragma once
// Block scaling of reference_dot(): elements times scales, and steps of groups, in Boost's integers and from
// the text of docs/numerics.md.
#include <span>

#include "mmaudit/model/instruction.hpp"
#include "mmaudit/oracles/exact.hpp"
#include "number.hpp"

namespace mmaudit::oracle {

/// The scale that the rules give to the block of position k; `bytes` empty: 1.
Number scale_of(const Instruction& instruction, const Datapath& datapath, std::span<const std::uint8_t> bytes,
                std::size_t k);

/// element * scale, as an element of its own.
Number times_scale(const Number& element, const Number& scale, const Datapath& datapath);

/// One element of A and of B, not scaled yet, with the scales of its k.
struct ScaledPair {
  Number a, b, scale_a, scale_b;
};

/// One step of groups over consecutive pairs and the addend c; bits of D's format.
std::uint64_t grouped_step(std::span<const ScaledPair> pairs, const Number& c, const Datapath& datapath,
                           const FormatSpec& output);

}  // namespace mmaudit::oracle
