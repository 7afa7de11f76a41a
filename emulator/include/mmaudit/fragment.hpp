#pragma once
// Which element of a tile each register value of each lane holds, as data: a list of modes for the lane
// number and one for the value number, each mode an extent with the row and column step of one unit (CuTe's
// layouts, spelled out). The first mode runs fastest. Source: PTX ISA 9.0, "Matrix Fragments for mma.m*n*k*"
// and "Register Fragments" of wgmma.mma_async.
#include <string_view>

#include "mmaudit/config.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit {

struct Coord {
  int row = 0, col = 0;
  constexpr bool operator==(const Coord&) const = default;
};

struct Mode {
  int extent = 1, row_stride = 0, col_stride = 0;
};

/// (lane, value) -> (row, column) of a rows x cols tile. Values that share a register are neighbours in the
/// value number, the low bits first. Not held in registers at all (B of wgmma): lanes = 0.
struct FragmentMap {
  static constexpr int kModes = 5;

  int rows = 0, cols = 0;
  int lanes = 0, values = 0;
  Mode lane[kModes], value[kModes];

  [[nodiscard]] MMAUDIT_HD constexpr Coord at(int lane_number, int value_number) const {
    Coord coord;
    for (int i = 0; i < kModes; ++i) {
      const int l = lane_number % lane[i].extent;
      const int v = value_number % value[i].extent;
      coord.row += l * lane[i].row_stride + v * value[i].row_stride;
      coord.col += l * lane[i].col_stride + v * value[i].col_stride;
      lane_number /= lane[i].extent;
      value_number /= value[i].extent;
    }
    return coord;
  }
};

inline constexpr int kWarpLanes = 32, kWarpgroupLanes = 128;

constexpr int lanes_of(const Instruction& instruction) {
  return is_wgmma(instruction.op) ? kWarpgroupLanes : kWarpLanes;
}

/// Bits of one element in a register. Integers are packed there, whatever a file keeps them in.
constexpr int register_bits(Format format) {
  const FormatSpec spec = spec_of(format);
  return spec.integer() ? spec.value_bits() : spec.storage_bits;
}

/// Elements in one 32-bit register; 1 for formats of 32 bits and more.
constexpr int elements_per_register(Format format) {
  const int bits = register_bits(format);
  return bits < 32 ? 32 / bits : 1;
}

/// The same of an operand of `instruction`: the kinds of e2m1 alone pack two into a byte.
constexpr int elements_per_register(const Instruction& instruction, Format format) {
  const bool packed = instruction.kind == MmaKind::mxf4 || instruction.kind == MmaKind::mxf4nvf4;
  return packed && format == Format::e2m1 ? 8 : elements_per_register(format);
}

/// Bits from one element to the next in a register of an operand of `instruction`.
constexpr int register_step(const Instruction& instruction, Format format) {
  const int each = elements_per_register(instruction, format);
  return each > 1 ? 32 / each : register_bits(format);
}

/// Bits of an element that reach a register. What else its storage byte holds does not.
constexpr int register_width(Format format) {
  const FormatSpec spec = spec_of(format);
  return spec.storage_bits <= 8 ? spec.value_bits() : spec.storage_bits;
}

/// How far up in its register's bits an element stands: e2m1 in the byte of a kind that mixes widths, two
/// bits. Source: PTX ISA 9.0, packing formats of kind::f8f6f4 and kind::mxf8f6f4.
constexpr int register_shift(const Instruction& instruction, Format format) {
  const bool mixes = instruction.kind == MmaKind::f8f6f4 || instruction.kind == MmaKind::mxf8f6f4;
  return mixes && format == Format::e2m1 ? 2 : 0;
}

/// The word of register `number` of a lane, of an operand of `instruction`: the raw bits that `element` has
/// of each Coord, low bits first.
template <class Element>
constexpr std::uint64_t register_word(const Instruction& instruction, const FragmentMap& map, Format format,
                                      int lane, int number, const Element& element) {
  const int each = elements_per_register(instruction, format), step = register_step(instruction, format);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - register_width(format));
  std::uint64_t word = 0;
  for (int e = 0; e < each; ++e)
    word |= (element(map.at(lane, number * each + e)) & mask)
            << (step * e + register_shift(instruction, format));
  return word;
}

/// m8n8k4 of f16: a warp holds four tiles, one in each octet (two quads: lanes l, l + 16 with the same l /
/// 4).
constexpr bool is_per_octet(const Instruction& instruction) {
  return instruction.op == Op::mma && instruction.m == 8 && instruction.a == Format::f16;
}

/// Whether the maps below describe `instruction`. tcgen05 reads shared memory and writes tensor memory; the
/// PTX ISA leaves the fragments of wmma unspecified.
constexpr bool has_fragment_maps(const Instruction& instruction) {
  return !is_tcgen05(instruction.op) && instruction.op != Op::wmma && instruction.op != Op::mfma;
}

/// Why an instruction other than wmma has none, in words.
constexpr std::string_view why_no_fragment_maps(const Instruction& instruction) {
  if (is_tcgen05(instruction.op))
    return "tcgen05 keeps its operands in shared and tensor memory: no lane holds them";
  return instruction.op == Op::mfma
             ? "which lanes of an AMD GPU hold the elements of v_mfma is not described here"
             : "";
}

/// A, m x stored_k(). For wgmma: the form that takes A from registers, one m16 fragment per warp.
/// Of an instruction per octet: of the tile of the lane's octet, A by rows.
constexpr FragmentMap fragment_a(const Instruction& instruction) {
  if (is_per_octet(instruction))
    return {.rows = instruction.m,
            .cols = instruction.k,
            .lanes = kWarpLanes,
            .values = instruction.k,
            .lane = {{4, 1, 0}, {4, 0, 0}, {2, 4, 0}, {}},
            .value = {{instruction.k, 0, 1}, {}, {}, {}}};
  const int per_register = elements_per_register(instruction, instruction.a),
            warps = lanes_of(instruction) / kWarpLanes;
  const int row_halves = instruction.m / (8 * warps), k_groups = instruction.stored_k() / (4 * per_register);
  return {.rows = instruction.m,
          .cols = instruction.stored_k(),
          .lanes = lanes_of(instruction),
          .values = per_register * row_halves * k_groups,
          .lane = {{4, 0, per_register}, {8, 1, 0}, {warps, 16, 0}},
          .value = {{per_register, 0, 1}, {row_halves, 8, 0}, {k_groups, 0, 4 * per_register}}};
}

/// B, k x n.
constexpr FragmentMap fragment_b(const Instruction& instruction) {
  if (is_wgmma(instruction.op))
    return {.rows = instruction.k, .cols = instruction.n, .lane = {}, .value = {}};
  if (is_per_octet(instruction))
    return {.rows = instruction.k,
            .cols = instruction.n,
            .lanes = kWarpLanes,
            .values = instruction.k,
            .lane = {{4, 0, 1}, {4, 0, 0}, {2, 0, 4}, {}},
            .value = {{instruction.k, 1, 0}, {}, {}, {}}};
  const int per_register = elements_per_register(instruction, instruction.b);
  const int k_groups = instruction.k / (4 * per_register);
  return {.rows = instruction.k,
          .cols = instruction.n,
          .lanes = kWarpLanes,
          .values = per_register * k_groups,
          .lane = {{4, per_register, 0}, {8, 0, 1}, {}},
          .value = {{per_register, 1, 0}, {k_groups, 4 * per_register, 0}, {}}};
}

namespace detail {

/// An accumulator of `format`, m x n.
constexpr FragmentMap accumulator_map(const Instruction& instruction, Format format) {
  if (is_per_octet(instruction) && format == Format::f16)
    return {.rows = instruction.m,
            .cols = instruction.n,
            .lanes = kWarpLanes,
            .values = instruction.n,
            .lane = {{4, 1, 0}, {4, 0, 0}, {2, 4, 0}, {}},
            .value = {{instruction.n, 0, 1}, {}, {}, {}}};
  if (is_per_octet(instruction))
    return {.rows = instruction.m,
            .cols = instruction.n,
            .lanes = kWarpLanes,
            .values = instruction.n,
            .lane = {{2, 1, 0}, {2, 0, 2}, {4, 0, 0}, {2, 4, 0}},
            .value = {{2, 0, 1}, {2, 2, 0}, {2, 0, 4}, {}}};
  const int warps = lanes_of(instruction) / kWarpLanes;
  const int row_halves = instruction.m / (8 * warps), n_groups = instruction.n / 8;
  return {.rows = instruction.m,
          .cols = instruction.n,
          .lanes = lanes_of(instruction),
          .values = 2 * row_halves * n_groups,
          .lane = {{4, 0, 2}, {8, 1, 0}, {warps, 16, 0}},
          .value = {{2, 0, 1}, {row_halves, 8, 0}, {n_groups, 0, 8}}};
}

}  // namespace detail

/// C, m x n.
constexpr FragmentMap fragment_c(const Instruction& instruction) {
  return detail::accumulator_map(instruction, instruction.c);
}

/// D, m x n: C's, unless their formats differ.
constexpr FragmentMap fragment_d(const Instruction& instruction) {
  return detail::accumulator_map(instruction, instruction.d);
}

/// How many slots hold each element of the tile, 0 when that differs among the elements. Read off the modes:
/// those without a step repeat the whole, each of the others steps in one direction, and in each direction
/// the steps form a mixed-radix number that counts to the tile's extent.
constexpr int multiplicity(const FragmentMap& map) {
  Mode modes[2 * FragmentMap::kModes];
  int count = 0, lanes = 1, values = 1, times = 1;
  const auto take = [&](const Mode& mode) {
    if (mode.row_stride == 0 && mode.col_stride == 0)
      times *= mode.extent;
    else if (mode.extent != 1)
      modes[count++] = mode;
  };
  for (int i = 0; i < FragmentMap::kModes; ++i) {
    lanes *= map.lane[i].extent;
    values *= map.value[i].extent;
    take(map.lane[i]);
    take(map.value[i]);
  }
  if (lanes != map.lanes || values != map.values) return 0;
  int rows = 1, cols = 1;
  for (int used = 0; used < count; ++used) {
    int next = used;
    const auto continues = [&](const Mode& mode) {
      return (mode.row_stride == rows && mode.col_stride == 0) ||
             (mode.row_stride == 0 && mode.col_stride == cols);
    };
    while (next < count && !continues(modes[next])) ++next;
    if (next == count) return 0;
    (modes[next].row_stride != 0 ? rows : cols) *= modes[next].extent;
    modes[next] = modes[used];
  }
  return rows == map.rows && cols == map.cols ? times : 0;
}

constexpr bool bijective(const FragmentMap& map) { return multiplicity(map) == 1; }

/// The slots that hold each element of `instruction`'s tile.
constexpr int expected_multiplicity(const Instruction& instruction) {
  return is_per_octet(instruction) ? 4 : 1;
}

}  // namespace mmaudit
