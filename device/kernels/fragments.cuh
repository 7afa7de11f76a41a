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

/// Elements that a lane finds beside each other in memory, and may move as one word: 1 where they are packed
/// differently there.
constexpr int run_of(const FragmentMap& map, Format format) {
  const int bytes = spec_of(format).storage_bits / 8, run = map.value[0].extent;
  if (map.value[0].row_stride != 0 || map.value[0].col_stride != 1 || register_bits(format) != 8 * bytes ||
      run * bytes > 8 || (run & (run - 1)) != 0)
    return 1;
  for (int i = 0; i < FragmentMap::kModes; ++i)
    if (map.lane[i].col_stride % run != 0 || (i > 0 && map.value[i].col_stride % run != 0)) return 1;
  return run;
}

/// The maps of one instruction, and its registers. Evaluated here because the functions are host code; a
/// kernel copies a map into a constexpr local, since it can't address a host constant.
template <typename Line>
struct Fragments {
  static constexpr bool kSparse = is_sparse(Line::kInstruction.op);
  static constexpr int kStoredK = Line::kInstruction.stored_k();  ///< of A
  static constexpr FragmentMap kMapA = fragment_a(Line::kInstruction);
  static constexpr FragmentMap kMapB = fragment_b(Line::kInstruction);
  static constexpr FragmentMap kMapC = fragment_c(Line::kInstruction);
  static constexpr FragmentMap kMapD = fragment_d(Line::kInstruction);
  static constexpr int kHeld = expected_multiplicity(Line::kInstruction);
  static_assert(multiplicity(kMapA) == kHeld && multiplicity(kMapB) == kHeld);
  static_assert(multiplicity(kMapC) == kHeld && multiplicity(kMapD) == kHeld);
  static constexpr int kRunA = run_of(kMapA, Line::kInstruction.a);
  static constexpr int kRunB = run_of(kMapB, Line::kInstruction.b);
  static constexpr int kRunC = run_of(kMapC, Line::kInstruction.c);
  static constexpr int kRunD = run_of(kMapD, Line::kInstruction.d);
  static constexpr int kRegistersA = kMapA.values / elements_per_register(Line::kInstruction.a);
  static constexpr int kRegistersB = kMapB.values / elements_per_register(Line::kInstruction.b);
  static constexpr int kRegistersC = kMapC.values / elements_per_register(Line::kInstruction.c);
  static constexpr int kRegistersD = kMapD.values / elements_per_register(Line::kInstruction.d);
};

/// One lane's registers of a tile whose rows are `columns` elements apart, a multiple of kRun. `values` cuts
/// the fragment short. kBits is the width of an element in a register: integers below a byte are packed on
/// the way.
template <int kBits, int kRun, typename Element, typename Register, int kRegisters>
__device__ __forceinline__ void load_fragment(const FragmentMap& map, const Element* tile, int columns,
                                              int lane, int values, Register (&registers)[kRegisters]) {
  using Word = typename Bits<8 * static_cast<int>(sizeof(Element)) * kRun>::Word;
  constexpr int kEach = 8 * static_cast<int>(sizeof(Register)) / kBits;
  constexpr int kElementBits = 8 * static_cast<int>(sizeof(Element));
  constexpr auto kMask = static_cast<Register>(~Register{0} >> (8 * sizeof(Register) - kBits));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) registers[r] = 0;
#pragma unroll
  for (int value = 0; value < kRegisters * kEach; value += kRun) {
    if (value >= values) continue;
    const Coord at = map.at(lane, value);
    const Word word = *reinterpret_cast<const Word*>(tile + at.row * columns + at.col);
#pragma unroll
    for (int i = 0; i < kRun; ++i)
      registers[(value + i) / kEach] |= (static_cast<Register>(word >> (kElementBits * i)) & kMask)
                                        << (kBits * ((value + i) % kEach));
  }
}

template <int kRun, typename Element, typename Register, int kRegisters>
__device__ __forceinline__ void store_fragment(const FragmentMap& map, Element* tile, int columns, int lane,
                                               int values, const Register (&registers)[kRegisters]) {
  using Word = typename Bits<8 * static_cast<int>(sizeof(Element)) * kRun>::Word;
  constexpr int kEach = static_cast<int>(sizeof(Register) / sizeof(Element));
  constexpr int kElementBits = 8 * static_cast<int>(sizeof(Element));
#pragma unroll
  for (int value = 0; value < kRegisters * kEach; value += kRun) {
    if (value >= values) continue;
    const Coord at = map.at(lane, value);
    Word word = 0;
#pragma unroll
    for (int i = 0; i < kRun; ++i)
      word |= static_cast<Word>(static_cast<Word>(static_cast<Element>(
                                    registers[(value + i) / kEach] >> (kElementBits * ((value + i) % kEach))))
                                << (kElementBits * i));
    *reinterpret_cast<Word*>(tile + at.row * columns + at.col) = word;
  }
}

}  // namespace mmaudit::device
