#pragma once
// Answers about special functions.
#include <string>

#include "request.hpp"

namespace mmaudit::explorer {

/// Every row: name, value, operands, format, steps, bounds, evidence.
std::string functions_text();

/// name, x, y: one input step by step.
std::string function_text(const Request& request);

/// name, bits of x, bits of y, first column, columns: errors in units of the last place over x's binade,
/// which is cut into at most 1024 columns, and the worst operands of the columns asked for.
std::string binade_text(const Request& request);

}  // namespace mmaudit::explorer
