#pragma once
// A number in the form another number was printed in.
#include <cstdint>
#include <string>
#include <string_view>

namespace mmaudit::report {

/// `value` with the digits and the exponent style of `printed`: 0.00129 like "1.29E-03".
std::string in_form_of(double value, std::string_view printed);

/// Whether `value` rounds to the digits of `printed`. A printed zero has to be an exact zero: nothing else
/// would be told apart from it otherwise.
bool has_printed_digits(double value, std::string_view printed);

/// "1.29e-03", "0" for zero: how errors are shown everywhere.
std::string error_text(double value);
/// "+2.2e-08", "0".
std::string signed_text(double value);

/// Part of a whole, 0 of nothing.
double share_of(std::uint64_t part, std::uint64_t whole);
/// "1.23%" of 0.0123, "0" for zero.
std::string percent_text(double share);

/// 1234567 as "1,234,567".
std::string grouped(unsigned long long value);

}  // namespace mmaudit::report
