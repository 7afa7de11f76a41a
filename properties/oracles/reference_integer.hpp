#pragma once
// The integer datapath of reference_dot(), in Boost's integers and from the text of the PTX ISA.
#include <cstdint>
#include <span>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::oracle {

/// `order`: the k in the order of evaluation. c has been replaced by 0 where it is not read.
std::uint64_t reference_integer_dot(const Instruction& instruction, const Datapath& datapath,
                                    std::span<const std::size_t> order, std::span<const std::uint64_t> a,
                                    std::span<const std::uint64_t> b, std::uint64_t c);

}  // namespace mmaudit::oracle
