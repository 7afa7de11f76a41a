#pragma once
// Figures of a report as JSON and back.
#include "mmaudit/json_fields.hpp"
#include "mmaudit/report/figures.hpp"

namespace mmaudit::report {

/// {"kind": "curves", "scatter" or "levels", ...}, without an id: a page has its own.
Json json_of(const Figure& figure);
/// The inverse. Curves without a colour get one each. Errors: InputError.
Figure figure_of(JsonFields& from, std::string id);

}  // namespace mmaudit::report
