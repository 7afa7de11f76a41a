#pragma once
// One instruction: shape, formats, unit. The lists: instructions/, one file per family.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit {

enum class Op : std::uint8_t { mma, wgmma, mma_sp, wgmma_sp, wmma, tcgen05, tcgen05_sp, mfma };

/// The warpgroup's form: A and B from shared memory, modifiers, one accumulator.
constexpr bool is_wgmma(Op op) { return op == Op::wgmma || op == Op::wgmma_sp; }
/// Half of A is zeros that are not stored: see sparse.hpp.
constexpr bool is_sparse(Op op) { return op == Op::mma_sp || op == Op::wgmma_sp || op == Op::tcgen05_sp; }
/// D in tensor memory; shapes and forms of one operation, dense or sparse.
constexpr bool is_tcgen05(Op op) { return op == Op::tcgen05 || op == Op::tcgen05_sp; }
/// Many n, B from shared memory, modifiers, and one accumulator: its C is its D.
constexpr bool is_asynchronous(Op op) { return is_wgmma(op) || is_tcgen05(op); }

/// The unit that computes an instruction, by name; the units stand beside the instructions they compute, in
/// instructions/. An architecture has one datapath per (unit, output format).
struct MatrixUnit {
  char name[20] = {};

  constexpr bool operator==(const MatrixUnit&) const = default;
};

constexpr std::string_view name_of(const MatrixUnit& unit) { return unit.name; }
std::string_view name_of(MatrixUnit&&) = delete;  // the view would outlive the unit

/// What stands for the product of two elements: of single bits, the count of a bit-wise operation.
enum class Multiply : std::uint8_t { product, xor_popc, and_popc };

/// The .kind of PTX, where an instruction has one.
enum class MmaKind : std::uint8_t { none, f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// D (m x n) = A (m x k) * B (k x n) + C (m x n). In the lists, n = 0 stands for every n of wgmma, m = n = 0
/// for every shape of tcgen05. A sparse A stores m x stored_k() elements, which metadata places among its k
/// columns. Block-scaled: every scale_block elements of k share one scale, in a row of A and in a column of
/// B.
struct Instruction {
  Op op = Op::mma;
  std::int16_t m = 0, n = 0, k = 0;
  Format d = Format::none, a = Format::none, b = Format::none, c = Format::none;
  MatrixUnit unit = {};
  std::int16_t min_compute_capability = 0;  ///< as Architecture's
  bool satfinite = false;                   ///< clamps an integer D instead of wrapping it
  Multiply multiply = Multiply::product;
  MmaKind kind = MmaKind::none;
  Format scale = Format::none;   ///< of the scale bytes; none: there are none
  std::int16_t scale_block = 0;  ///< elements of k per scale; k / scale_block is PTX's scale_vec

  /// Elements of A that a row stores, and so products of one element of D.
  [[nodiscard]] constexpr int stored_k() const { return is_sparse(op) ? k / 2 : k; }

  constexpr bool operator==(const Instruction&) const = default;
};

/// Scales of one row of A, or one column of B.
constexpr int scales_of(const Instruction& inst) {
  return inst.scale_block == 0 ? 0 : inst.k / inst.scale_block;
}

/// Products of one element of D that share a scale: of a sparse instruction half of its scale_block.
constexpr int products_per_scale(const Instruction& inst) {
  return is_sparse(inst.op) ? inst.scale_block / 2 : inst.scale_block;
}

inline constexpr int kWgmmaMinN = 8, kWgmmaMaxN = 256, kWgmmaStepN = 8;

namespace detail {

template <class T, std::size_t Size>
std::integral_constant<std::size_t, Size> size_of(const T (&list)[Size]);
template <class T, std::size_t Size>
std::integral_constant<std::size_t, Size> size_of(const std::array<T, Size>& list);

/// The elements of many arrays in one.
template <class T, class... Lists>
constexpr auto joined(const Lists&... lists) {
  std::array<T, (decltype(size_of(lists))::value + ...)> all{};
  auto* out = all.data();
  ((out = std::copy(std::begin(lists), std::end(lists), out)), ...);
  return all;
}

}  // namespace detail

namespace instructions {

/// `inst` with every pair of `formats` as its A and B; A changes last.
template <class Formats>
constexpr auto every_pair(Instruction inst, const Formats& formats) {
  constexpr std::size_t kSize = decltype(detail::size_of(formats))::value;
  std::array<Instruction, kSize * kSize> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    inst.a = formats[i / kSize];
    inst.b = formats[i % kSize];
    all[i] = inst;
  }
  return all;
}

/// Every pair of integers as A and B, wrapping and then with .satfinite.
template <std::size_t Size>
constexpr auto every_integer_pair(Instruction inst, const Format (&formats)[Size]) {
  Instruction clamped = inst;
  clamped.satfinite = true;
  return detail::joined<Instruction>(every_pair(inst, formats), every_pair(clamped, formats));
}

/// `inst` of this kind, block-scaled where `scale` is given.
constexpr Instruction of_kind(Instruction inst, MmaKind kind, Format scale = Format::none,
                              std::int16_t scale_block = 0) {
  inst.kind = kind;
  inst.scale = scale;
  inst.scale_block = scale_block;
  return inst;
}

/// `dense` over twice the depth, half of which A stores; a scale is then that of twice as many elements of k.
constexpr Instruction sparse_of(Instruction dense, MatrixUnit unit) {
  dense.op = dense.op == Op::tcgen05 ? Op::tcgen05_sp : Op::mma_sp;
  dense.k = static_cast<std::int16_t>(2 * dense.k);
  dense.scale_block = static_cast<std::int16_t>(2 * dense.scale_block);
  dense.unit = unit;
  return dense;
}
template <std::size_t Size>
constexpr auto sparse_of(std::array<Instruction, Size> dense, MatrixUnit unit) {
  for (Instruction& one : dense) one = sparse_of(one, unit);
  return dense;
}

inline constexpr Format kFp8[] = {Format::e4m3, Format::e5m2};
/// Elements of 8, 6 and 4 bits: what kind::f8f6f4 and kind::mxf8f6f4 take.
inline constexpr auto kF8f6f4 = [] {
  constexpr auto kTaken = [](const NamedFormat& row) { return row.names.ptx_kind == "f8f6f4"; };
  std::array<Format,
             static_cast<std::size_t>(std::count_if(std::begin(kFormats), std::end(kFormats), kTaken))>
      all{};
  auto* out = all.data();
  for (const NamedFormat& row : kFormats)
    if (kTaken(row)) *out++ = row.spec.id;
  return all;
}();
inline constexpr Format kInt8[] = {Format::s8, Format::u8};
inline constexpr Format kInt4[] = {Format::s4, Format::u4};

}  // namespace instructions

}  // namespace mmaudit
