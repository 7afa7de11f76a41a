#pragma once
// Every instruction there is, one list of all families, and how they are called: PTX text without the fixed
// parts.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "mmaudit/instruction_row.hpp"
#include "mmaudit/instructions/mma.hpp"
#include "mmaudit/instructions/mma_integer.hpp"
#include "mmaudit/instructions/wgmma.hpp"
#include "mmaudit/instructions/wmma.hpp"

namespace mmaudit {
namespace detail {

template <std::size_t... Sizes>
constexpr auto joined(const Instruction (&... families)[Sizes]) {
  std::array<Instruction, (Sizes + ...)> all{};
  auto* out = all.data();
  ((out = std::copy_n(families, Sizes, out)), ...);
  return all;
}

}  // namespace detail

/// In the order that listings print.
inline constexpr auto kInstructions =
    detail::joined(rows::kMma, rows::kWgmma, rows::kMmaInteger, rows::kWmma);

/// True when wgmma of this row exists with n columns. Source: PTX ISA 9.0, shapes of wgmma.mma_async.
constexpr bool wgmma_has_n(const Instruction& row, int n) {
  if (n < kWgmmaMinN || n > kWgmmaMaxN || n % kWgmmaStepN != 0) return false;
  return row.d != Format::s32 || n <= 32 || n % (2 * kWgmmaStepN) == 0;
}

/// "mma.m16n8k16.f32.f16.f16.f32" (D, A, B, C), "mma.m16n8k32.satfinite.s32.s8.u8.s32",
/// "mma.m16n8k256.s32.b1.b1.s32.xor.popc", "wmma.m16n16k16.f16.f16.f16.f32" or "wgmma.m64n64k16.f32.f16.f16";
/// a table row with n = 0 prints "nN" in place of the number.
std::string name_of(const Instruction& instruction);

/// The instruction a name spells, with n filled in; nullopt when no row matches (also for an n that wgmma
/// lacks).
std::optional<Instruction> find_instruction(std::string_view name);

/// Why find_instruction() refused `name`, in one clause with what is allowed; empty when it would not refuse
/// it.
std::string why_no_instruction(std::string_view name);

}  // namespace mmaudit
