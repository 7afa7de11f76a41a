#pragma once
// The part of `mmaudit explain` that shows integer dot products.
#include <string>

#include "mmaudit/explain.hpp"

namespace mmaudit::cli {

/// A table: every product that is not zero (all: every one) and the sum after it.
std::string products_text(const Explanation& trace, bool all);

/// The exact sum in one line, and what became of it where D is not that.
std::string integer_verdict(const Explanation& trace, double exact, const std::string& decimal);

}  // namespace mmaudit::cli
