#pragma once
// Shorthands for the renderers.
#include <string>

#include "mmaudit/report/report.hpp"

namespace mmaudit::report {

template <class Result>
std::string to_html(const Result& result) {
  return rendered(report_of(result), "html");
}
template <class Result>
std::string to_markdown(const Result& result) {
  return rendered(report_of(result), "markdown");
}
template <class Result>
std::string to_console(const Result& result, bool colour = false) {
  return rendered(report_of(result), "text", colour);
}

}  // namespace mmaudit::report
