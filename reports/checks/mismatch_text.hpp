#pragma once
// A dot product on which two backends differ, as text.
#include <string>

#include "mmaudit/dot_case.hpp"

namespace mmaudit::checks {

/// Bits, values and their distance, and the command that explains the dot product, on indented lines.
std::string describe(const Mismatch& mismatch, const Instruction& instruction);

/// "mmaudit explain ..." of one dot product. `where`: the options --arch and --model, each with a space
/// before it.
std::string explain_command(const Instruction& instruction, const DotCase& dot,
                            const std::string& where = {});

/// Distance of two results in units of the last place of `format`; "-" when one is NaN or infinite.
std::string ulps_text(std::uint64_t x, std::uint64_t y, const FormatSpec& format);

}  // namespace mmaudit::checks
