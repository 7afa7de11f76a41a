#pragma once
// Row-major tiles in global memory <-> registers, through the fragment maps.
#include <cstdint>

#include "mmaudit/fragment.hpp"

namespace mmaudit::device {

template <int kBits>
struct Bits;  // an unsigned integer as wide as one element
template <>
struct Bits<8> {
  using Word = std::uint8_t;
};
template <>
struct Bits<16> {
  using Word = std::uint16_t;
};
template <>
struct Bits<32> {
  using Word = std::uint32_t;
};
template <>
struct Bits<64> {
  using Word = std::uint64_t;
};
template <Format kFormat>
using ElementOf = typename Bits<spec_of(kFormat).storage_bits>::Word;
/// Width of an element in a register, as a constant that device code may name.
template <Format kFormat>
inline constexpr int kRegisterBits = register_bits(kFormat);
/// Registers hold 32 bits, a pair of them a 64-bit element.
template <Format kFormat>
using RegisterOf = typename Bits<(spec_of(kFormat).storage_bits > 32 ? 64 : 32)>::Word;

/// The maps of one instruction, and its registers. Evaluated here because the functions are host code; a
/// kernel copies a map into a constexpr local, since it can't address a host constant.
template <typename Line>
struct Fragments {
  static constexpr FragmentMap kMapA = fragment_a(Line::kInstruction);
  static constexpr FragmentMap kMapB = fragment_b(Line::kInstruction);
  static constexpr FragmentMap kMapC = fragment_c(Line::kInstruction);
  static constexpr FragmentMap kMapD = fragment_d(Line::kInstruction);
  static constexpr int kHeld = expected_multiplicity(Line::kInstruction);
  static_assert(multiplicity(kMapA) == kHeld && multiplicity(kMapB) == kHeld);
  static_assert(multiplicity(kMapC) == kHeld && multiplicity(kMapD) == kHeld);
  static constexpr int kRegistersA = kMapA.values / elements_per_register(Line::kInstruction.a);
  static constexpr int kRegistersB = kMapB.values / elements_per_register(Line::kInstruction.b);
  static constexpr int kRegistersC = kMapC.values / elements_per_register(Line::kInstruction.c);
  static constexpr int kRegistersD = kMapD.values / elements_per_register(Line::kInstruction.d);
};

/// One lane's registers of a tile whose rows are `columns` elements apart. `values` cuts the fragment short.
/// kBits is the width of an element in a register: integers below a byte are packed on the way.
template <int kBits, typename Element, typename Register, int kRegisters>
__device__ __forceinline__ void load_fragment(const FragmentMap& map, const Element* tile, int columns,
                                              int lane, int values, Register (&registers)[kRegisters]) {
  constexpr int kEach = 8 * static_cast<int>(sizeof(Register)) / kBits;
  constexpr auto kMask = static_cast<Register>(~Register{0} >> (8 * sizeof(Register) - kBits));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    registers[r] = 0;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int value = r * kEach + e;
      if (value >= values) continue;
      const Coord at = map.at(lane, value);
      registers[r] |= (static_cast<Register>(tile[at.row * columns + at.col]) & kMask) << (kBits * e);
    }
  }
}

template <typename Element, typename Register, int kRegisters>
__device__ __forceinline__ void store_fragment(const FragmentMap& map, Element* tile, int columns, int lane,
                                               int values, const Register (&registers)[kRegisters]) {
  constexpr int kEach = static_cast<int>(sizeof(Register) / sizeof(Element));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int value = r * kEach + e;
      if (value >= values) continue;
      const Coord at = map.at(lane, value);
      tile[at.row * columns + at.col] = static_cast<Element>(registers[r] >> (8 * sizeof(Element) * e));
    }
  }
}

}  // namespace mmaudit::device
