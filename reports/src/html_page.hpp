#pragma once
// What every page starts and ends with.
#include <string>
#include <string_view>

namespace mmaudit::report {

/// Up to and with "<body>": the style sheet inside, admitted by its digest, and nothing else to load.
std::string page_start(std::string_view title);
std::string page_end();

}  // namespace mmaudit::report
