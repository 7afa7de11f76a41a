#pragma once
// Instructions as rows: shape, formats, datapath. A row's name is PTX text without the fixed parts.
// Source of shapes and types: PTX ISA 9.0, "mma" and "wgmma.mma_async".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mmaudit/format.hpp"

namespace mmaudit {

enum class Op : std::uint8_t { mma, wgmma };

/// Which unit computes it. An architecture has one model a (datapath, output format).
enum class Datapath : std::uint8_t {
  mma_884,  ///< mma.m8n8k4 of f16: a unit of its own on the GPUs that have it; later ones emulate the
            ///< instruction
  mma_f16,
  mma_tf32,
  mma_fp8,
  mma_f64,
  wgmma_f16,
  wgmma_tf32,
  wgmma_fp8,
  mma_i8,
  mma_i4,
  mma_b1,
  wgmma_i8,
  wgmma_b1
};

/// What stands for the product of two elements: of single bits, the count of a bit-wise operation.
enum class Multiply : std::uint8_t { product, xor_popc, and_popc };

/// D (m x n) = A (m x k) * B (k x n) + C (m x n). In the table, n = 0 stands for every n of wgmma.
struct Instruction {
  Op op = Op::mma;
  std::int16_t m = 0, n = 0, k = 0;
  Format d = Format::none, a = Format::none, b = Format::none, c = Format::none;
  Datapath path = Datapath::mma_f16;
  std::int16_t min_compute_capability = 0;  ///< ten times major plus minor
  bool satfinite = false;                   ///< clamps an integer D instead of wrapping it
  Multiply multiply = Multiply::product;

  constexpr bool operator==(const Instruction&) const = default;
};

inline constexpr int kWgmmaMinN = 8, kWgmmaMaxN = 256, kWgmmaStepN = 8;

// clang-format off
inline constexpr Instruction kInstructions[] = {
    {Op::mma, 16, 8,  8, Format::f32, Format::f16,  Format::f16,  Format::f32, Datapath::mma_f16,  75},
    {Op::mma, 16, 8, 16, Format::f32, Format::f16,  Format::f16,  Format::f32, Datapath::mma_f16,  80},
    {Op::mma, 16, 8,  8, Format::f16, Format::f16,  Format::f16,  Format::f16, Datapath::mma_f16,  75},
    {Op::mma, 16, 8, 16, Format::f16, Format::f16,  Format::f16,  Format::f16, Datapath::mma_f16,  80},
    {Op::mma, 16, 8,  8, Format::f32, Format::bf16, Format::bf16, Format::f32, Datapath::mma_f16,  80},
    {Op::mma, 16, 8, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, Datapath::mma_f16,  80},
    {Op::mma, 16, 8,  4, Format::f32, Format::tf32, Format::tf32, Format::f32, Datapath::mma_tf32, 80},
    {Op::mma, 16, 8,  8, Format::f32, Format::tf32, Format::tf32, Format::f32, Datapath::mma_tf32, 80},
    {Op::mma, 16, 8, 16, Format::f32, Format::e4m3, Format::e4m3, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f32, Format::e4m3, Format::e5m2, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f32, Format::e5m2, Format::e4m3, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f32, Format::e5m2, Format::e5m2, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e5m2, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e4m3, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e5m2, Format::f32, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e4m3, Format::e4m3, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e4m3, Format::e5m2, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e5m2, Format::e4m3, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e5m2, Format::e5m2, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e4m3, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e5m2, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e4m3, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e5m2, Format::f16, Datapath::mma_fp8,  89},
    {Op::mma,  8, 8,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, Datapath::mma_f64,  80},
    {Op::mma, 16, 8,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, Datapath::mma_f64,  90},
    {Op::mma, 16, 8,  8, Format::f64, Format::f64,  Format::f64,  Format::f64, Datapath::mma_f64,  90},
    {Op::mma, 16, 8, 16, Format::f64, Format::f64,  Format::f64,  Format::f64, Datapath::mma_f64,  90},
    {Op::mma,  8, 8,  4, Format::f32, Format::f16,  Format::f16,  Format::f32, Datapath::mma_884,  70},
    {Op::mma,  8, 8,  4, Format::f32, Format::f16,  Format::f16,  Format::f16, Datapath::mma_884,  70},
    {Op::mma,  8, 8,  4, Format::f16, Format::f16,  Format::f16,  Format::f16, Datapath::mma_884,  70},
    {Op::wgmma, 64, 0, 16, Format::f32, Format::f16,  Format::f16,  Format::f32, Datapath::wgmma_f16,  90},
    {Op::wgmma, 64, 0, 16, Format::f16, Format::f16,  Format::f16,  Format::f16, Datapath::wgmma_f16,  90},
    {Op::wgmma, 64, 0, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, Datapath::wgmma_f16,  90},
    {Op::wgmma, 64, 0,  8, Format::f32, Format::tf32, Format::tf32, Format::f32, Datapath::wgmma_tf32, 90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32, Datapath::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e4m3, Format::e5m2, Format::f32, Datapath::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e5m2, Format::e4m3, Format::f32, Datapath::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e5m2, Format::e5m2, Format::f32, Datapath::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e4m3, Format::e4m3, Format::f16, Datapath::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e4m3, Format::e5m2, Format::f16, Datapath::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e5m2, Format::e4m3, Format::f16, Datapath::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e5m2, Format::e5m2, Format::f16, Datapath::wgmma_fp8,  90},
    {Op::mma, 8, 8, 16, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::mma_i8, 75},
    {Op::mma, 8, 8, 16, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::mma_i8, 75},
    {Op::mma, 8, 8, 16, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::mma_i8, 75},
    {Op::mma, 8, 8, 16, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::mma_i8, 75},
    {Op::mma, 8, 8, 16, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::mma_i8, 75, true},
    {Op::mma, 8, 8, 16, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::mma_i8, 75, true},
    {Op::mma, 8, 8, 16, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::mma_i8, 75, true},
    {Op::mma, 8, 8, 16, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::mma_i8, 75, true},
    {Op::mma, 16, 8, 16, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 16, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 16, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 16, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 16, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 16, 8, 16, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 16, 8, 16, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 16, 8, 16, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::mma_i8, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::mma_i8, 80, true},
    {Op::mma, 8, 8, 32, Format::s32, Format::s4, Format::s4, Format::s32, Datapath::mma_i4, 75},
    {Op::mma, 8, 8, 32, Format::s32, Format::s4, Format::u4, Format::s32, Datapath::mma_i4, 75},
    {Op::mma, 8, 8, 32, Format::s32, Format::u4, Format::s4, Format::s32, Datapath::mma_i4, 75},
    {Op::mma, 8, 8, 32, Format::s32, Format::u4, Format::u4, Format::s32, Datapath::mma_i4, 75},
    {Op::mma, 8, 8, 32, Format::s32, Format::s4, Format::s4, Format::s32, Datapath::mma_i4, 75, true},
    {Op::mma, 8, 8, 32, Format::s32, Format::s4, Format::u4, Format::s32, Datapath::mma_i4, 75, true},
    {Op::mma, 8, 8, 32, Format::s32, Format::u4, Format::s4, Format::s32, Datapath::mma_i4, 75, true},
    {Op::mma, 8, 8, 32, Format::s32, Format::u4, Format::u4, Format::s32, Datapath::mma_i4, 75, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::s4, Format::s4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::s4, Format::u4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::u4, Format::s4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::u4, Format::u4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 32, Format::s32, Format::s4, Format::s4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::s4, Format::u4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::u4, Format::s4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 16, 8, 32, Format::s32, Format::u4, Format::u4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 16, 8, 64, Format::s32, Format::s4, Format::s4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 64, Format::s32, Format::s4, Format::u4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 64, Format::s32, Format::u4, Format::s4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 64, Format::s32, Format::u4, Format::u4, Format::s32, Datapath::mma_i4, 80},
    {Op::mma, 16, 8, 64, Format::s32, Format::s4, Format::s4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 16, 8, 64, Format::s32, Format::s4, Format::u4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 16, 8, 64, Format::s32, Format::u4, Format::s4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 16, 8, 64, Format::s32, Format::u4, Format::u4, Format::s32, Datapath::mma_i4, 80, true},
    {Op::mma, 8, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, Datapath::mma_b1, 75, false, Multiply::xor_popc},
    {Op::mma, 8, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, Datapath::mma_b1, 80, false, Multiply::and_popc},
    {Op::mma, 16, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, Datapath::mma_b1, 80, false, Multiply::xor_popc},
    {Op::mma, 16, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, Datapath::mma_b1, 80, false, Multiply::and_popc},
    {Op::mma, 16, 8, 256, Format::s32, Format::b1, Format::b1, Format::s32, Datapath::mma_b1, 80, false, Multiply::xor_popc},
    {Op::mma, 16, 8, 256, Format::s32, Format::b1, Format::b1, Format::s32, Datapath::mma_b1, 80, false, Multiply::and_popc},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::s8, Format::s32, Datapath::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::u8, Format::s32, Datapath::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::s8, Format::s32, Datapath::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::u8, Format::s32, Datapath::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 256, Format::s32, Format::b1, Format::b1, Format::s32, Datapath::wgmma_b1, 90, false, Multiply::and_popc},
};
// clang-format on

/// True when wgmma of this row exists with n columns. Source: PTX ISA 9.0, shapes of wgmma.mma_async.
constexpr bool wgmma_has_n(const Instruction& row, int n) {
  if (n < kWgmmaMinN || n > kWgmmaMaxN || n % kWgmmaStepN != 0) return false;
  return row.d != Format::s32 || n <= 32 || n % (2 * kWgmmaStepN) == 0;
}

/// "mma.m16n8k16.f32.f16.f16.f32" (D, A, B, C), "mma.m16n8k32.satfinite.s32.s8.u8.s32",
/// "mma.m16n8k256.s32.b1.b1.s32.xor.popc" or "wgmma.m64n64k16.f32.f16.f16"; a table row with n = 0
/// prints "nN" in place of the number.
std::string name_of(const Instruction& instruction);

/// The instruction a name spells, with n filled in; nullopt when no row matches (also for an n that wgmma
/// lacks).
std::optional<Instruction> find_instruction(std::string_view name);

/// Why find_instruction() refused `name`, in one clause with what is allowed; empty when it would not refuse
/// it.
std::string why_no_instruction(std::string_view name);

}  // namespace mmaudit
