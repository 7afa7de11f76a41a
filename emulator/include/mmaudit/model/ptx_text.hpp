#pragma once
// How PTX spells mma, mma.sp, wgmma and wgmma.sp up to their operands. A constant expression: inline assembly
// takes the text.
#include <string_view>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit {

/// In the order of MmaKind.
inline constexpr std::string_view kMmaKindNames[] = {"",   "f16",      "tf32", "f8f6f4",
                                                     "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};

struct PtxText {
  char text[128] = {};  ///< ends with 0
  int size = 0;

  constexpr void add(std::string_view part) {
    for (const char c : part) text[size++] = c;
  }
  constexpr void add(int number) {
    if (number >= 10) add(number / 10);
    text[size++] = static_cast<char>('0' + number % 10);
  }
};

/// "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
/// "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16".
constexpr PtxText ptx_text(const Instruction& inst) {
  const bool wgmma = is_wgmma(inst.op);
  PtxText out;
  out.add(wgmma ? "wgmma.mma_async" : "mma");
  if (is_sparse(inst.op)) out.add(wgmma ? ".sp" : ".sp::ordered_metadata");
  out.add(".sync.aligned.m"), out.add(inst.m), out.add("n"), out.add(inst.n), out.add("k"), out.add(inst.k);
  if (!wgmma) out.add(".row.col");
  if (inst.kind != MmaKind::none) out.add(".kind::"), out.add(kMmaKindNames[static_cast<int>(inst.kind)]);
  if (inst.scale != Format::none) out.add(".block_scale.scale_vec::"), out.add(scales_of(inst)), out.add("X");
  if (inst.satfinite) out.add(".satfinite");
  for (const Format format : {inst.d, inst.a, inst.b}) out.add("."), out.add(name_of(format));
  if (!wgmma) out.add("."), out.add(name_of(inst.c));
  if (inst.scale != Format::none) out.add("."), out.add(name_of(inst.scale));
  if (inst.multiply == Multiply::xor_popc) out.add(".xor.popc");
  if (inst.multiply == Multiply::and_popc) out.add(".and.popc");
  return out;
}

}  // namespace mmaudit
