#include "mmaudit/tensor_memory/mma_shape.hpp"

#include <algorithm>
#include <string>

#include "mmaudit/tensor_memory/rules.hpp"

namespace mmaudit::tmem {
namespace {

constexpr unsigned bit(MmaKind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr unsigned kFloats = bit(MmaKind::f16) | bit(MmaKind::tf32) | bit(MmaKind::f8f6f4);
constexpr unsigned kScaled = bit(MmaKind::mxf8f6f4) | bit(MmaKind::mxf4) | bit(MmaKind::mxf4nvf4);

/// Table 39. N: from `step` to 256 in steps; or the powers of two from 64 on.
struct ShapeRow {
  unsigned kinds;
  bool weight_stationary;
  int cta_group;
  int sparse;  ///< as of DLayout
  int m[3];
  int step;  ///< 0: 64, 128 and, dense, 256
};
constexpr ShapeRow kShapes[] = {
    {kFloats, false, 1, 2, {64, 128, 0}, 8},
    {kFloats, false, 2, 2, {128, 256, 0}, 16},
    {kFloats | bit(MmaKind::i8), true, 1, 2, {32, 64, 128}, 0},
    {bit(MmaKind::i8), false, 1, 2, {64, 128, 0}, 8},
    {bit(MmaKind::i8), false, 2, 2, {128, 256, 0}, 32},
    {kScaled, false, 1, 2, {128, 0, 0}, 8},
    {kScaled, false, 2, 0, {128, 256, 0}, 16},
    {kScaled, false, 2, 1, {256, 0, 0}, 16},
};

/// The codes of a format field, by kind.
struct FormatCode {
  unsigned kinds;
  unsigned code;
  Format format;
};
constexpr unsigned kBytes = bit(MmaKind::f8f6f4) | bit(MmaKind::mxf8f6f4);
constexpr unsigned kFours = bit(MmaKind::mxf4) | bit(MmaKind::mxf4nvf4);
constexpr FormatCode kElementCodes[] = {
    {bit(MmaKind::f16), 0, Format::f16},
    {bit(MmaKind::f16), 1, Format::bf16},
    {bit(MmaKind::tf32), 2, Format::tf32},
    {kBytes, 0, Format::e4m3},
    {kBytes, 1, Format::e5m2},
    {kBytes, 3, Format::e2m3},
    {kBytes, 4, Format::e3m2},
    {kBytes, 5, Format::e2m1},
    {bit(MmaKind::i8), 0, Format::u8},
    {bit(MmaKind::i8), 1, Format::s8},
    {kFours, 1, Format::e2m1},
};
/// Of D. That kind f8f6f4 has f16 is in Table 39 alone.
constexpr FormatCode kDCodes[] = {
    {bit(MmaKind::f16) | bit(MmaKind::f8f6f4), 0, Format::f16},
    {kFloats, 1, Format::f32},
    {bit(MmaKind::i8), 2, Format::s32},
};

/// Table 57.
struct ScaleRow {
  MmaKind kind;
  int vec;
  Format format;
};
constexpr ScaleRow kScales[] = {
    {MmaKind::mxf8f6f4, 1, Format::ue8m0}, {MmaKind::mxf4, 2, Format::ue8m0},
    {MmaKind::mxf4nvf4, 2, Format::ue8m0}, {MmaKind::mxf4nvf4, 4, Format::ue8m0},
    {MmaKind::mxf4nvf4, 4, Format::ue4m3},
};

template <std::size_t Size>
Format format_of(const FormatCode (&codes)[Size], MmaKind kind, unsigned code) {
  for (const FormatCode& row : codes)
    if ((row.kinds & bit(kind)) != 0 && row.code == code) return row.format;
  return Format::none;
}

template <std::size_t Size>
unsigned code_of(const FormatCode (&codes)[Size], MmaKind kind, Format format) {
  for (const FormatCode& row : codes)
    if ((row.kinds & bit(kind)) != 0 && row.format == format) return row.code;
  return 0;
}

bool fits(int wanted, bool sparse) { return wanted == 2 || (wanted == 1) == sparse; }

/// Why Table 39 has no such shape.
std::string why_no_shape(const MmaForm& form, int m, int n) {
  const ShapeRow* const row = std::find_if(std::begin(kShapes), std::end(kShapes), [&](const ShapeRow& x) {
    return (x.kinds & bit(form.kind)) != 0 && x.weight_stationary == form.weight_stationary &&
           x.cta_group == form.cta_group && fits(x.sparse, form.sparse);
  });
  if (row == std::end(kShapes)) return refuse(rule("shape_ws"), "another kind or .cta_group::2");
  if (m == 0 || std::find(std::begin(row->m), std::end(row->m), m) == std::end(row->m))
    return refuse(rule("shape_m"), std::to_string(m));
  bool n_fits = n >= 8 && n <= 256;
  if (row->step == 0)
    n_fits = n == 64 || n == 128 || (n == 256 && !form.sparse);
  else
    n_fits = n_fits && n % row->step == 0;
  if (form.kind == MmaKind::i8 && row->step == 8 && n > 32) n_fits = n_fits && n % 16 == 0;
  return n_fits ? "" : refuse(rule("shape_n"), std::to_string(n));
}

/// The listed instruction of these formats, with M and N.
std::optional<Instruction> listed(const Mma& mma, Format scale, int block) {
  for (Instruction one : kInstructions) {
    const Instruction& wanted = mma.instruction;
    if (!is_tcgen05(one.op) || is_sparse(one.op) != mma.form.sparse || one.kind != mma.form.kind ||
        one.a != wanted.a || one.b != wanted.b || one.d != wanted.d || one.satfinite != wanted.satfinite ||
        one.scale != scale || one.scale_block != block)
      continue;
    one.m = wanted.m;
    one.n = wanted.n;
    return one;
  }
  return std::nullopt;
}

std::string why_bad_transpose(const Mma& mma) {
  const Instruction& inst = mma.instruction;
  for (const bool b : {false, true}) {
    if (!(b ? mma.transpose_b : mma.transpose_a)) continue;
    const FormatSpec spec = spec_of(b ? inst.b : inst.a);
    if (spec.value_bits() < 8)
      return refuse(rule("transpose_width"), std::to_string(spec.value_bits()) + " bits");
    if (b && spec.storage_bits == 8 && inst.n % (16 * mma.form.cta_group) != 0)
      return refuse(rule("transpose_n"), std::to_string(inst.n));
  }
  return {};
}

}  // namespace

std::string understand(const MmaForm& form, std::uint32_t idesc, bool target_i8, Mma& mma) {
  const auto field = [&](int first, int size) { return idesc >> first & ((1U << size) - 1); };
  const bool scaled = (bit(form.kind) & kScaled) != 0;
  if (scaled != form.block_scale)
    return refuse(rule("block_scale"), scaled ? "none" : "one with another kind");
  if (form.kind == MmaKind::i8 && !target_i8) return refuse(rule("kind_target"), "another target");
  mma = {};
  mma.form = form;
  Instruction& inst = mma.instruction;
  const bool dense4 = mma.dense4();

  // Tables 42 to 44 differ above bit 23 and in what bits 0 to 6 mean.
  const bool reserved = scaled ? field(0, 2) != 0 || field(3, 1) != 0 || field(6, 1) != 0 ||
                                     field(24, 3) != 0 || (dense4 ? field(12, 1) != 0 : field(31, 1) != 0)
                               : field(6, 1) != 0 || field(23, 1) != 0 || field(29, 1) != 0;
  if (reserved) return refuse(rule("idesc_reserved"), "1");
  if (dense4 && field(31, 1) != 0) return not_modelled(gap("k96"));
  if ((field(2, 1) != 0) != form.sparse) return refuse(rule("idesc_sparse"), form.sparse ? "0" : "1");
  inst.a = format_of(kElementCodes, form.kind, field(7, 3));
  inst.b = format_of(kElementCodes, form.kind, dense4 ? field(10, 2) : field(10, 3));
  if (inst.a == Format::none) return refuse(rule("idesc_a"), std::to_string(field(7, 3)));
  if (inst.b == Format::none || (form.kind == MmaKind::f16 && inst.a != inst.b))
    return refuse(rule("idesc_b"), std::to_string(field(10, 3)));
  inst.d = scaled ? Format::f32 : format_of(kDCodes, form.kind, field(4, 2));
  if (inst.d == Format::none || (inst.d == Format::f16 && inst.a == Format::bf16))
    return refuse(rule("idesc_d"), std::to_string(field(4, 2)));
  inst.satfinite = !scaled && field(3, 1) != 0;
  if (inst.satfinite && form.kind != MmaKind::i8) return refuse(rule("idesc_saturate"), "1");
  mma.negate_a = field(13, 1) != 0;
  mma.negate_b = field(14, 1) != 0;
  if (form.kind == MmaKind::i8 && (mma.negate_a || mma.negate_b)) return refuse(rule("idesc_negate"), "1");
  mma.transpose_a = field(15, 1) != 0;
  mma.transpose_b = field(16, 1) != 0;
  if (dense4 && (mma.transpose_a || mma.transpose_b)) return refuse(rule("idesc_transpose"), "1");
  if (!scaled && field(30, 2) != 0) {
    if (!form.weight_stationary) return refuse(rule("idesc_shift"), std::to_string(field(30, 2)));
    mma.max_shift = 4 << field(30, 2);
  }
  inst.n = static_cast<std::int16_t>(field(17, 6) << 3);
  inst.m = static_cast<std::int16_t>(scaled ? field(27, 2) << 7 : field(24, 5) << 4);
  if (std::string reason = why_no_shape(form, inst.m, inst.n); !reason.empty()) return reason;
  if (std::string reason = why_bad_transpose(mma); !reason.empty()) return reason;

  Format scale = Format::none;
  int block = 0;
  if (scaled) {
    scale = field(23, 1) != 0 ? Format::ue8m0 : Format::ue4m3;
    int vec = form.scale_vec;
    if (vec == 0 && form.kind != MmaKind::mxf4nvf4) vec = form.kind == MmaKind::mxf4 ? 2 : 1;
    const auto* const row = std::find_if(std::begin(kScales), std::end(kScales), [&](const ScaleRow& x) {
      return x.kind == form.kind && x.vec == vec;
    });
    if (row == std::end(kScales))
      return refuse(rule("scale_vec"), vec == 0 ? "none" : std::to_string(vec) + "X");
    const bool known = std::any_of(std::begin(kScales), std::end(kScales), [&](const ScaleRow& x) {
      return x.kind == form.kind && x.vec == vec && x.format == scale;
    });
    if (!known) return refuse(rule("idesc_scale"), name_of(scale));
    if (form.sparse) return not_modelled(gap("sparse_scaled"));
    mma.scale_id_a = static_cast<int>(field(29, 2));
    mma.scale_id_b = static_cast<int>(field(4, 2));
    for (const int id : {mma.scale_id_a, mma.scale_id_b})
      if (id % vec != 0)
        return refuse(rule("scale_id"), std::to_string(id) + " with " + std::to_string(vec) + "X");
    block = (dense4 ? 64 : 32) / vec;
  } else if (form.sparse && field(0, 2) != 0) {
    if (form.kind == MmaKind::i8 || form.kind == MmaKind::f8f6f4)
      return refuse(rule("sparse_selector"), std::to_string(field(0, 2)));
    return not_modelled(gap("metadata_selector"));
  }
  const auto found = listed(mma, scale, block);
  if (!found) return refuse(rule("idesc_d"), "a pair of formats without an instruction");
  inst = *found;
  for (const DLayout& layout : kDLayouts)
    if (layout.m == inst.m && layout.cta_group == form.cta_group &&
        layout.weight_stationary == form.weight_stationary && fits(layout.sparse, form.sparse))
      mma.layout = layout;
  if (form.ashift && inst.m < 128) return refuse(rule("ashift_m"), "M = " + std::to_string(inst.m));
  if (form.ashift && inst.m == 256) return not_modelled(gap("ashift_256"));
  return {};
}

std::uint32_t instruction_descriptor(const Mma& mma) {
  const Instruction& inst = mma.instruction;
  const auto at = [](unsigned value, int first) { return value << first; };
  const MmaKind kind = mma.form.kind;
  const std::uint32_t common = at(mma.form.sparse ? 1 : 0, 2) | at(code_of(kElementCodes, kind, inst.a), 7) |
                               at(code_of(kElementCodes, kind, inst.b), 10) | at(mma.negate_a ? 1 : 0, 13) |
                               at(mma.negate_b ? 1 : 0, 14) | at(mma.transpose_a ? 1 : 0, 15) |
                               at(mma.transpose_b ? 1 : 0, 16) | at(static_cast<unsigned>(inst.n) >> 3, 17) |
                               at(static_cast<unsigned>(inst.m) >> 4, 24);
  if (inst.scale != Format::none)
    return common | at(static_cast<unsigned>(mma.scale_id_b), 4) |
           at(inst.scale == Format::ue8m0 ? 1 : 0, 23) | at(static_cast<unsigned>(mma.scale_id_a), 29);
  unsigned shift = 0;
  while (shift < 3 && mma.max_shift != 0 && (4 << shift) < mma.max_shift) ++shift;
  return common | at(inst.satfinite ? 1 : 0, 3) | at(code_of(kDCodes, kind, inst.d), 4) | at(shift, 30);
}

std::string column_mask(const Mma& mma, std::uint64_t descriptor, std::vector<bool>& zero, int& shift) {
  const auto field = [&](int first, int size) {
    return static_cast<int>(descriptor >> first & ((std::uint64_t{1} << size) - 1));
  };
  if (field(36, 3) != 0 || field(62, 2) != 0) return refuse(rule("mask_reserved"), "1");
  const int n = mma.instruction.n, m = mma.instruction.m;
  shift = field(56, 6);
  if (shift > std::min(m == 32 ? 16 : 32, mma.max_shift))
    return refuse(rule("mask_shift"), std::to_string(shift));
  zero.assign(static_cast<std::size_t>(n), false);
  if (field(39, 1) == 0) return {};
  const int zeros = field(40, 8) + 1, used = field(48, 8) + 1, part = n * m / 128;
  for (int column = 0; column < n; ++column) {
    const int mask = column / part, place = column % part + field(8 * mask, 8);
    // The first span is of zeros where its bit is set, else of columns that are used.
    const int within = (place + (field(32 + mask, 1) != 0 ? used : 0)) % (used + zeros);
    zero[static_cast<std::size_t>(column)] = within >= used;
  }
  return {};
}

}  // namespace mmaudit::tmem
