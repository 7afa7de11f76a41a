#pragma once
// The command as the user gave it, for provenance.
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::cli {

/// One argument as bash reads it back byte for byte. What could change how a page or a terminal shows the
/// rest (control characters, bytes that are no UTF-8, marks of writing direction) is spelled as an escape, so
/// that the result is one line of text whatever a file is called.
std::string shell_quoted(std::string_view argument);

/// "mmaudit" and the arguments, each quoted.
std::vector<std::string> quoted_command(int argc, const char* const* argv);

}  // namespace mmaudit::cli
