#pragma once
// One dot product on one architecture, as text and as JSON.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "explain_inputs.hpp"
#include "mmaudit/explain.hpp"

namespace mmaudit::cli {

/// `all`: zero products too.
std::string trace_text(const ExplainInputs& inputs, const Explanation& trace, bool all);
nlohmann::json trace_json(const ExplainInputs& inputs, const Explanation& trace,
                          const Architecture& architecture, const DatapathEntry& entry);

}  // namespace mmaudit::cli
