#pragma once
// The style sheet of the page, and its digest for the page's content security policy.
#include <string_view>

namespace mmaudit::report {

extern const std::string_view kStyle;
extern const std::string_view kStyleSha256;  ///< of exactly kStyle, hexadecimal

}  // namespace mmaudit::report
