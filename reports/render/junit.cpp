#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

using Outcome = TestCase::Outcome;

/// A report without cases is one case, which its headline judges.
std::vector<TestCase> cases_of(const Report& report) {
  if (!report.cases.empty()) return report.cases;
  return {{.group = "mmaudit",
           .name = report.title,
           .outcome = exit_code(report) == 0 ? Outcome::passed : Outcome::failure,
           .message = report.headline}};
}

std::string draw_junit(const Report& report, bool /*colour*/) {
  const std::vector<TestCase> cases = cases_of(report);
  const auto count = [&](Outcome outcome) {
    return std::count_if(cases.begin(), cases.end(),
                         [&](const TestCase& one) { return one.outcome == outcome; });
  };
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
      escaped_html(report.suite.empty() ? report.title : report.suite), cases.size(), count(Outcome::failure),
      count(Outcome::error), count(Outcome::skipped));
  for (const TestCase& one : cases) {
    out += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escaped_html(one.group),
                       escaped_html(one.name));
    out += one.outcome == Outcome::passed
               ? "/>\n"
               : fmt::format(">\n      <{0} message=\"{1}\">{2}</{0}>\n    </testcase>\n",
                             kOutcomeNames[static_cast<std::size_t>(one.outcome)], escaped_html(one.message),
                             escaped_html(one.text));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace

namespace render {
extern const Renderer kJunit{"junit", "xml", "--junit", "JUnit XML", draw_junit};
}  // namespace render

}  // namespace mmaudit::report
