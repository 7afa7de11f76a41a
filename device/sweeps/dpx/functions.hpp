#pragma once
// The functions that CUDA calls DPX, as data, and what each returns, in plain C++. Source: CUDA Math API
// Reference 13.0, "SIMD Intrinsics" and "Integer Intrinsics", __vi*; the PTX ISA's add, max and min, which
// wrap.
#include <cstdint>
#include <string_view>

#include "mmaudit/config.hpp"

namespace mmaudit::sweeps {

/// What the greatest or least is taken of: a and b; a, b and c; a + b and c. `which` also says whether it is
/// a.
enum class DpxOperands : std::uint8_t { two, three, sum, which };
enum class DpxType : std::uint8_t { s32, u32, s16x2, u16x2 };

struct DpxFunction {
  std::string_view name;
  DpxOperands operands;
  DpxType type;
  bool greatest;  ///< false: the least
  bool relu;      ///< not below 0
};

// Calls LINE(index, name, operands, type, greatest, relu) for every function of a type.
#define MMAUDIT_DPX_SIGNED(LINE, AT, TYPE)                       \
  LINE((AT) + 0, vimax_##TYPE##_relu, two, TYPE, true, true)     \
  LINE((AT) + 1, vimin_##TYPE##_relu, two, TYPE, false, true)    \
  LINE((AT) + 2, vimax3_##TYPE##_relu, three, TYPE, true, true)  \
  LINE((AT) + 3, vimin3_##TYPE##_relu, three, TYPE, false, true) \
  LINE((AT) + 4, viaddmax_##TYPE##_relu, sum, TYPE, true, true)  \
  LINE((AT) + 5, viaddmin_##TYPE##_relu, sum, TYPE, false, true)
#define MMAUDIT_DPX_ANY(LINE, AT, TYPE)                    \
  LINE((AT) + 0, vimax3_##TYPE, three, TYPE, true, false)  \
  LINE((AT) + 1, vimin3_##TYPE, three, TYPE, false, false) \
  LINE((AT) + 2, viaddmax_##TYPE, sum, TYPE, true, false)  \
  LINE((AT) + 3, viaddmin_##TYPE, sum, TYPE, false, false) \
  LINE((AT) + 4, vibmax_##TYPE, which, TYPE, true, false)  \
  LINE((AT) + 5, vibmin_##TYPE, which, TYPE, false, false)
#define MMAUDIT_DPX_FUNCTIONS(LINE) \
  MMAUDIT_DPX_ANY(LINE, 0, s32)     \
  MMAUDIT_DPX_ANY(LINE, 6, u32)     \
  MMAUDIT_DPX_ANY(LINE, 12, s16x2)  \
  MMAUDIT_DPX_ANY(LINE, 18, u16x2)  \
  MMAUDIT_DPX_SIGNED(LINE, 24, s32) \
  MMAUDIT_DPX_SIGNED(LINE, 30, s16x2)

#define MMAUDIT_DPX_ROW(INDEX, NAME, OPERANDS, TYPE, GREATEST, RELU) \
  {#NAME, DpxOperands::OPERANDS, DpxType::TYPE, GREATEST, RELU},
inline constexpr DpxFunction kDpxFunctions[] = {MMAUDIT_DPX_FUNCTIONS(MMAUDIT_DPX_ROW)};
#undef MMAUDIT_DPX_ROW

/// A result, and for `which` bit 0 (low or only part) and bit 1 (high part): whether it is a's.
struct DpxResult {
  std::uint32_t value = 0, first = 0;
};

/// What: one part of `bits` bits, all arithmetic in 64 bits, the sum wrapped.
MMAUDIT_HD constexpr DpxResult dpx_part(DpxOperands operands, bool is_signed, bool greatest, bool relu,
                                        int bits, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::int64_t range = std::int64_t{1} << bits;
  const auto number = [&](std::int64_t value) {
    value &= range - 1;
    return is_signed && value >= range / 2 ? value - range : value;
  };
  const std::int64_t x = operands == DpxOperands::sum ? number(number(a) + number(b)) : number(a);
  const std::int64_t y = operands == DpxOperands::sum ? number(c) : number(b);
  std::int64_t best = (greatest ? x >= y : x <= y) ? x : y;
  const std::uint32_t first = best == x ? 1 : 0;
  if (operands == DpxOperands::three) {
    const std::int64_t z = number(c);
    if (greatest ? z > best : z < best) best = z;
  }
  if (relu && best < 0) best = 0;
  return {static_cast<std::uint32_t>(best & (range - 1)), operands == DpxOperands::which ? first : 0};
}

/// What: the result of a function, in plain C++. Range: any a, b, c; functions of two operands ignore c.
MMAUDIT_HD constexpr DpxResult dpx(DpxOperands operands, DpxType type, bool greatest, bool relu,
                                   std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const bool is_signed = type == DpxType::s32 || type == DpxType::s16x2;
  if (type == DpxType::s32 || type == DpxType::u32)
    return dpx_part(operands, is_signed, greatest, relu, 32, a, b, c);
  const DpxResult low = dpx_part(operands, is_signed, greatest, relu, 16, a & 0xFFFF, b & 0xFFFF, c & 0xFFFF);
  const DpxResult high = dpx_part(operands, is_signed, greatest, relu, 16, a >> 16, b >> 16, c >> 16);
  return {low.value | high.value << 16, low.first | high.first << 1};
}
constexpr DpxResult dpx(const DpxFunction& function, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return dpx(function.operands, function.type, function.greatest, function.relu, a, b, c);
}

template <typename T>
MMAUDIT_HD constexpr T dpx_best(T x, T y, bool greatest) {
  return greatest ? (x > y ? x : y) : (x < y ? x : y);
}

/// The same as people write it, in numbers of the type's own width: what a compiler is given.
template <typename T, typename Unsigned>
MMAUDIT_HD constexpr DpxResult dpx_plain_part(DpxOperands operands, bool greatest, bool relu, Unsigned a,
                                              Unsigned b, Unsigned c) {
  const bool sum = operands == DpxOperands::sum;
  const T x = static_cast<T>(sum ? static_cast<Unsigned>(a + b) : a), y = static_cast<T>(sum ? c : b);
  T best = dpx_best(x, y, greatest);
  const std::uint32_t first = operands == DpxOperands::which && best == x ? 1 : 0;
  if (operands == DpxOperands::three) best = dpx_best(best, static_cast<T>(c), greatest);
  if (relu) best = dpx_best(best, T{0}, true);
  return {static_cast<Unsigned>(best), first};
}
MMAUDIT_HD constexpr DpxResult dpx_plain(DpxOperands operands, DpxType type, bool greatest, bool relu,
                                         std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  using Half = std::uint16_t;
  const auto part = [&](int at) {
    const auto x = static_cast<Half>(a >> at), y = static_cast<Half>(b >> at), z = static_cast<Half>(c >> at);
    return type == DpxType::s16x2 ? dpx_plain_part<std::int16_t, Half>(operands, greatest, relu, x, y, z)
                                  : dpx_plain_part<Half, Half>(operands, greatest, relu, x, y, z);
  };
  if (type == DpxType::s32)
    return dpx_plain_part<std::int32_t, std::uint32_t>(operands, greatest, relu, a, b, c);
  if (type == DpxType::u32)
    return dpx_plain_part<std::uint32_t, std::uint32_t>(operands, greatest, relu, a, b, c);
  const DpxResult low = part(0), high = part(16);
  return {low.value | high.value << 16, low.first | high.first << 1};
}

/// Operands at which a part of 16 or 32 bits overflows, ties or changes its sign.
inline constexpr int kDpxEdges = 16;
MMAUDIT_HD constexpr std::uint32_t dpx_edge(int index) {
  switch (index) {  // a table that device code can index
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return 0xFFFFFFFF;
    case 3:
      return 0x7FFFFFFF;
    case 4:
      return 0x80000000;
    case 5:
      return 0x80000001;
    case 6:
      return 0x7FFFFFFE;
    case 7:
      return 0x0000FFFF;
    case 8:
      return 0xFFFF0000;
    case 9:
      return 0x7FFF8000;
    case 10:
      return 0x80007FFF;
    case 11:
      return 0x00018000;
    case 12:
      return 0x8000FFFF;
    case 13:
      return 0xFFFE7FFF;
    case 14:
      return 0x00001234;
    default:
      return 0xEDCB1234;
  }
}
/// Every triple of edges, folded: `folded` starts at 0.
inline constexpr int kDpxTriples = kDpxEdges * kDpxEdges * kDpxEdges;
MMAUDIT_HD constexpr std::uint32_t dpx_fold(std::uint32_t folded, DpxResult result) {
  return (folded ^ result.value ^ result.first << 5) * 0x01000193U + 1;
}

}  // namespace mmaudit::sweeps
