#pragma once
// Which types which generation multiplies, and through which instructions; from the rows of the
// architectures.
#include <span>
#include <string>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::cli {

/// The types of A and B, "fp8" or "fp8, fp6, fp4" where any two of them may meet; formats that hardware
/// treats alike are one type.
std::string types_of(const Instruction& inst);
/// "mma.sp" of "mma.sp.m16n8k32.f32...", with the format and block of the scales where there are some.
std::string interface_of(const Instruction& inst);

/// A row per types of A and B and kind of instruction: whether it is synchronous, what the OCP specifies, and
/// per architecture the formats of D, with "?" where every one of them rests on papers alone.
report::Table capability_table(std::span<const Architecture* const> architectures);
/// The same table as JSON ("mmaudit.capabilities/1"): per row "asynchronous" and "ocp", per cell the
/// formats with their evidence.
std::string capability_json(std::span<const Architecture* const> architectures);

/// "X; Y": the kinds of instructions that GPUs have and this model has no row of.
std::string not_in_the_model();

}  // namespace mmaudit::cli
