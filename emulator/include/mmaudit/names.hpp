#pragma once
// Names as people type and paste them. Files are stricter: find_instruction(), find_format().
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {

/// The instruction that `text` means: a name of find_instruction(); one as listings print it (N open: 64, M
/// open: 128, A and B open: e4m3); PTX as in a source file; SASS ("HMMA.16816.F32"); a CUTLASS atom
/// ("SM80_16x8x16_F32F16F16F32_TN"). Upper and lower case are the same. nullopt when nothing is spelled.
std::optional<Instruction> read_instruction(std::string_view text);

/// Whether `text`, spelled in any of these ways, means `instruction`, whatever its N (and M of tcgen05).
bool means(std::string_view text, const Instruction& instruction);

/// The listed names that have most in common with `text`, at most so many, the nearest first; never a sparse
/// one for a dense one, none that has too little.
std::vector<std::string> nearest_instructions(std::string_view text, std::size_t most);
/// The first of them; empty when there is none.
std::string nearest_instruction(std::string_view text);

/// The format that `name` means: its own name or a usual other one ("fp16", "half", "float8_e4m3fn", "int8").
std::optional<Format> read_format(std::string_view name);

/// What a name that is no format stands for ("fp8": "e4m3 or e5m2"); empty when it is not known.
std::string_view meaning_of(std::string_view name);

/// How many names a refusal of an unknown one lists where all would be too many.
inline constexpr std::size_t kNearest = 3;
/// "a, b, c, ... (67 more: `mmaudit list`)": `first` of `all` names, and the command that lists them.
std::string cut_list(const std::vector<std::string>& first, std::size_t all, std::string_view where);
/// What is allowed in the place of `name`: every name where they are few, else the nearest.
std::string allowed_near(std::string_view name, const std::vector<std::string>& allowed,
                         std::string_view where = {});

// Why a look-up failed, in one clause "found X, allowed: Y": the same for a person and for a program.

/// For a name that find_architecture() does not know. `own`: the name of one more that is allowed, or empty.
std::string why_no_architecture(std::string_view name, std::string_view own = {});
/// For a name that find_format() does not know.
std::string why_no_format(std::string_view name);
/// For an instruction that `architecture` has no row for: the nearest that it has, where they fit a line.
std::string why_no_datapath(const Architecture& architecture, const Instruction& instruction);

}  // namespace mmaudit
