#include "mmaudit/report/report.hpp"

namespace mmaudit::report::render {

extern const Renderer kJson{
    "json", "json", [](const Report& report, bool) { return report.json ? report.json() : std::string(); }};

}  // namespace mmaudit::report::render
