#pragma once
// The style sheet and the script of the pages, and their digests for a page's content security policy.
#include <string_view>

namespace mmaudit::report {

extern const std::string_view kPictureStyle;  ///< of pictures that are files of their own; part of kStyle
extern const std::string_view kStyle;
extern const std::string_view kStyleSha256;  ///< of exactly kStyle, hexadecimal
extern const std::string_view kScript;
extern const std::string_view kScriptSha256;  ///< of exactly kScript, hexadecimal

}  // namespace mmaudit::report
