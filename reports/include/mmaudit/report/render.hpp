#pragma once
// Writers: a result in, text out. Writing files is the caller's.
#include <string>
#include <string_view>

#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// At most 110 columns; escape sequences only with `colour`.
std::string to_console(const AuditResult& result, bool colour = false);
std::string to_markdown(const AuditResult& result);
/// The "schema" field is "mmaudit.audit/2" (1 had no "gemm"); numbers that do not exist are null.
std::string to_json(const AuditResult& result);
/// One page that loads nothing: style, figures and the script that sorts tables are inside.
std::string to_html(const AuditResult& result);

/// Safe as element content and inside double quotes, of HTML and XML; control characters that both forbid are
/// dropped.
std::string escaped_html(std::string_view text);

}  // namespace mmaudit::report
