#pragma once
// Where an element of a matrix lies in shared memory, as a matrix descriptor says it.
// Source: PTX ISA 9.0, 9.7.16.3.3 (canonical layouts), 9.7.16.4.1 (Table 40), 9.7.16.10.4 (packing).
#include <cstdint>
#include <span>
#include <string>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit::tmem {

/// A swizzling mode: rows of `bytes` bytes, whose 16-byte pieces are exchanged by bits [7, 7 + bits) of the
/// address: Swizzle<bits, 4, 3>.
struct Swizzle {
  int code = 0, bytes = 16, bits = 0;
};
inline constexpr Swizzle kSwizzles[] = {{0, 16, 0}, {6, 32, 1}, {4, 64, 2}, {2, 128, 3}};

/// A matrix descriptor, decoded. Offsets in bytes.
struct MatrixDescriptor {
  std::uint32_t start = 0, leading = 0, stride = 0;
  Swizzle swizzle;
};

/// Errors: the refusal, empty when `bits` were decoded.
std::string decode(std::uint64_t bits, MatrixDescriptor& descriptor);
/// The inverse; offsets are multiples of 16 below 2^18.
std::uint64_t encode(const MatrixDescriptor& descriptor);

/// How elements share the 16-byte pieces of shared memory: `width` bits each, `count` to a piece.
struct Packing {
  int width = 16, count = 8;
};

/// Of an element of this format: with kinds f8f6f4 and mxf8f6f4 sixteen elements of any width to a piece, the
/// rest padding; with the kinds of e2m1 alone (`dense4`) thirty-two.
Packing packing_of(Format format, bool dense4);

/// The address of the byte that holds byte `byte` of row `row` of a K-major matrix.
std::uint32_t k_major_byte(const MatrixDescriptor& matrix, int row, int byte);

/// The first byte of element (row, k), row counted along M or N, and its first bit in that byte.
struct ElementPlace {
  std::uint32_t byte = 0;
  int bit = 0;
};
ElementPlace element_place(const MatrixDescriptor& matrix, const Packing& packing, bool transposed, int row,
                           int k);

/// Writes the low `width` bits from bit `bit` of memory[byte] on, the lowest first; the bits around them
/// stay.
void put_bits(std::span<std::uint8_t> memory, std::uint32_t byte, int bit, int width, std::uint64_t bits);

}  // namespace mmaudit::tmem
