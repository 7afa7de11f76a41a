#pragma once
// Every instruction there is, and how they are named: PTX text without the fixed parts.
#include <optional>
#include <string>
#include <string_view>

#include "mmaudit/model/instruction_fields.hpp"
#include "mmaudit/model/instructions/mfma.hpp"
#include "mmaudit/model/instructions/mma.hpp"
#include "mmaudit/model/instructions/mma_f8f6f4.hpp"
#include "mmaudit/model/instructions/mma_integer.hpp"
#include "mmaudit/model/instructions/mma_scaled.hpp"
#include "mmaudit/model/instructions/sparse.hpp"
#include "mmaudit/model/instructions/sparse_kinds.hpp"
#include "mmaudit/model/instructions/tcgen05.hpp"
#include "mmaudit/model/instructions/wgmma.hpp"
#include "mmaudit/model/instructions/wmma.hpp"

namespace mmaudit {
/// In the order that listings print.
inline constexpr auto kInstructions = detail::joined<Instruction>(
    instructions::kMma, instructions::kWgmma, instructions::kMmaInteger, instructions::kMmaSparse,
    instructions::kWgmmaSparse, instructions::kWmma, instructions::kMmaF8f6f4, instructions::kMmaScaled,
    instructions::kMmaSparseKinds, instructions::kTcgen05, instructions::kTcgen05Sparse, instructions::kMfma);

/// True when this wgmma exists with n columns, or this tcgen05 with m = 64 or 128. Source: PTX ISA 9.0,
/// shapes of wgmma.mma_async and tcgen05.mma.
constexpr bool wgmma_has_n(const Instruction& inst, int n) {
  if (n < kWgmmaMinN || n > kWgmmaMaxN || n % kWgmmaStepN != 0) return false;
  return inst.d != Format::s32 || n <= 32 || n % (2 * kWgmmaStepN) == 0;
}

/// True when this tcgen05.mma exists with m rows in some form: 32 with .ws alone, 256 with .cta_group::2
/// alone. Source: PTX ISA 9.0, Table 39.
constexpr bool tcgen05_has_m(const Instruction& inst, int m) {
  return m == 128 || m == 256 || ((m == 32 || m == 64) && inst.scale == Format::none);
}

/// True when this tcgen05.mma exists with m rows and n columns in some form. Source: PTX ISA 9.0, Table 39.
constexpr bool tcgen05_has_n(const Instruction& inst, int m, int n) {
  if (m == 32) return n == 64 || n == 128 || (n == 256 && !is_sparse(inst.op));
  return wgmma_has_n(inst, n) && (m != 256 || n % (inst.d == Format::s32 ? 32 : 16) == 0);
}

/// True when the instruction exists with this m and n.
constexpr bool has_shape(const Instruction& inst, int m, int n) {
  if (is_wgmma(inst.op)) return m == inst.m && wgmma_has_n(inst, n);
  if (is_tcgen05(inst.op)) return tcgen05_has_m(inst, m) && tcgen05_has_n(inst, m, n);
  return m == inst.m && n == inst.n;
}

/// The instruction with m = 128 and this n where it stands for many shapes.
constexpr Instruction with_shape(Instruction inst, int n) {
  if (inst.m == 0) inst.m = 128;
  if (inst.n == 0) inst.n = static_cast<std::int16_t>(n);
  return inst;
}

/// "mma.m16n8k16.f32.f16.f16.f32" (D, A, B, C), "mma.m16n8k32.satfinite.s32.s8.u8.s32",
/// "mma.m16n8k256.s32.b1.b1.s32.xor.popc", "wgmma.m64n64k16.f32.f16.f16",
/// "mma.sp.m16n8k32.f32.f16.f16.f32" or "wmma.m16n16k16.f16.f16.f16.f32"; n = 0 is printed as "nN",
/// m = 0 as "mM". PTX's "::" is written "_", so that a name is a file name, and
/// .block_scale, which every kind with a scale_vec has, is left out:
/// "mma.m16n8k32.kind_f8f6f4.f32.e3m2.e2m1.f32",
/// "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3",
/// "tcgen05.m128n64k16.kind_f16.f32.f16.f16", "tcgen05.sp.m128n64k32.kind_f16.f32.f16.f16",
/// "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0". What PTX puts into tcgen05's
/// instruction descriptor (shape, formats, saturation) stands where mma has it. AMD's instructions have AMD's
/// names, of several the oldest: "v_mfma_f32_32x32x8f16", "v_mfma_f32_16x16x32_fp8_bf8".
std::string name_of(const Instruction& instruction);

/// What stands after PTX's .kind::, "mxf8f6f4"; empty for none.
std::string_view name_of(MmaKind kind);

/// The instruction a name spells, with n filled in; nullopt when none matches (also for a shape that
/// wgmma or tcgen05 lacks). "mma.sp::ordered_metadata" is another spelling of "mma.sp".
std::optional<Instruction> find_instruction(std::string_view name);

/// Why find_instruction() refused `name`, in one clause with what is allowed; empty when it would not refuse
/// it.
std::string why_no_instruction(std::string_view name);

}  // namespace mmaudit
