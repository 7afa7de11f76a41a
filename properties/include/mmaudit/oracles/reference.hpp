#pragma once
// The model a second time, slowly: arbitrary-precision integers, written from docs/numerics.md and the
// comments of datapath.hpp. It shares the tables of the emulator (formats, datapaths) and none of its
// arithmetic, so that a slip in either shows as a difference.
#include <cstdint>

#include "mmaudit/backend.hpp"
#include "mmaudit/dot_case.hpp"

namespace mmaudit::oracle {

/// What: D = a . b + c of `dot` under every rule of `datapath`. Range and rounding: any bit pattern; rounding
/// is the datapath's. fma_chain ignores negation, which only wgmma has. Errors: none. Source:
/// docs/numerics.md.
std::uint64_t reference_dot(const Instruction& instruction, const Datapath& datapath, const DotCase& dot);

/// The same for every element of a batch, by the datapaths of `architecture`; slow.
Backend reference_backend(const Architecture& architecture);

}  // namespace mmaudit::oracle
