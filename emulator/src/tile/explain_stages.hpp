#pragma once
// The trace of a staged datapath.
#include "mmaudit/explain.hpp"

namespace mmaudit {

/// Writes the stages and D to `trace`, whose spec is staged; the rest as explain().
void explain_stages(Explanation& trace, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c,
                    unsigned modifiers);

}  // namespace mmaudit
