#include "mmaudit/report/report.hpp"

namespace mmaudit::report::render {

extern const Renderer kJson{"json", "json", "--json", "the result as JSON", [](const Report& report, bool) {
                              return report.json ? report.json() : to_json(report);
                            }};

}  // namespace mmaudit::report::render
