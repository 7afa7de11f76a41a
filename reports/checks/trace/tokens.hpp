#pragma once
// Which tokens and modules of two traces are the same, as people write it.
#include <cstddef>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace mmaudit::checks {

/// The call in which a trace has a token; kNone: in none.
std::size_t call_of(const Trace& trace, TraceToken token);
/// By TraceDiffOptions::rows; without any the tokens of the same entry and position. Errors: InputError.
std::vector<TokenPair> pairs_of(const Trace& a, const Trace& b, const std::vector<std::string>& rows);
/// Errors: InputError for one of TraceDiffOptions::maps that is none, or that fits no module of A or of B.
void require_maps(const Trace& a, const Trace& b, const std::vector<std::string>& maps);

}  // namespace mmaudit::checks
