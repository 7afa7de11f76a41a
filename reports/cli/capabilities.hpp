#pragma once
// Which types which generation multiplies, and through which instructions; from the rows of the
// architectures.
#include <span>
#include <string>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::cli {

/// The types of A and B, "fp8" or "fp8, fp6, fp4" where any two of them may meet; formats that hardware
/// treats alike are one type.
std::string types_of(const Instruction& inst);
/// "mma.sp" of "mma.sp.m16n8k32.f32...", with the format and block of the scales where there are some.
std::string interface_of(const Instruction& inst);

/// A row per types of A and B and kind of instruction: whether it is synchronous, what the OCP specifies, and
/// per architecture the formats of D, with "?" where every one of them rests on papers alone. The JSON
/// ("mmaudit.capabilities/1") has per row "asynchronous" and "ocp", per cell the formats with their evidence.
report::Report capability_report(std::span<const Architecture* const> architectures);

/// What one tensor core of each generation multiplies per clock, and ratios. The JSON is "mmaudit.cores/1".
/// Errors: InputError where no size of these generations is published.
report::Report core_report(std::span<const Architecture* const> architectures);

}  // namespace mmaudit::cli
