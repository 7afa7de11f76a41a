#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

using Outcome = TestCase::Outcome;

std::string draw(const Report& report, bool /*colour*/) {
  const auto count = [&](Outcome outcome) {
    return std::count_if(report.cases.begin(), report.cases.end(),
                         [&](const TestCase& one) { return one.outcome == outcome; });
  };
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\">\n",
      escaped_html(report.suite), report.cases.size(), count(Outcome::failure), count(Outcome::error));
  for (const TestCase& one : report.cases) {
    out += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escaped_html(one.group),
                       escaped_html(one.name));
    out += one.outcome == Outcome::passed
               ? "/>\n"
               : fmt::format(">\n      <{0} message=\"{1}\">{2}</{0}>\n    </testcase>\n",
                             one.outcome == Outcome::failure ? "failure" : "error", escaped_html(one.message),
                             escaped_html(one.text));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace

namespace render {
extern const Renderer kJunit{"junit", "xml", draw};
}  // namespace render

}  // namespace mmaudit::report
