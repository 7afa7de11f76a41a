#include "mmaudit/tensor_memory/shared_matrix.hpp"

#include <algorithm>

#include "mmaudit/tensor_memory/rules.hpp"

namespace mmaudit::tmem {
namespace {

constexpr std::uint32_t kPiece = 16;  // bytes that are never split

std::uint32_t swizzled(std::uint32_t address, const Swizzle& swizzle) {
  const std::uint32_t mask = (1U << swizzle.bits) - 1;
  return address ^ (address >> 7 & mask) << 4;
}

std::uint64_t field(std::uint64_t bits, int first, int size) {
  return bits >> first & ((std::uint64_t{1} << size) - 1);
}

}  // namespace

std::string decode(std::uint64_t bits, MatrixDescriptor& descriptor) {
  const auto number = [](std::uint64_t x) { return std::to_string(x); };
  if (field(bits, 46, 3) != 1) return refuse(rule("descriptor_version"), number(field(bits, 46, 3)));
  if (field(bits, 14, 2) != 0 || field(bits, 30, 2) != 0 || field(bits, 53, 8) != 0)
    return refuse(rule("descriptor_zero"), "another value");
  const std::uint64_t mode = field(bits, 61, 3);
  if (mode == 1) return not_modelled(gap("atom32"));
  const auto* const found = std::find_if(std::begin(kSwizzles), std::end(kSwizzles), [&](const Swizzle& x) {
    return static_cast<std::uint64_t>(x.code) == mode;
  });
  if (found == std::end(kSwizzles)) return refuse(rule("descriptor_swizzle"), number(mode));
  if (field(bits, 52, 1) != 0) return not_modelled(gap("absolute_leading"));
  if (field(bits, 49, 3) != 0) return not_modelled(gap("base_offset"));
  const auto bytes = [&](int first) { return static_cast<std::uint32_t>(field(bits, first, 14) << 4); };
  descriptor = {bytes(0), bytes(16), bytes(32), *found};
  return {};
}

std::uint64_t encode(const MatrixDescriptor& descriptor) {
  const auto part = [](std::uint32_t bytes) { return std::uint64_t{(bytes & 0x3FFFFU) >> 4}; };
  return part(descriptor.start) | part(descriptor.leading) << 16 | part(descriptor.stride) << 32 |
         std::uint64_t{1} << 46 | static_cast<std::uint64_t>(descriptor.swizzle.code) << 61;
}

Packing packing_of(Format format, bool dense4) {
  const FormatSpec spec = spec_of(format);
  if (dense4) return {4, 32};
  const int width = spec.storage_bits > 8 ? spec.storage_bits : spec.value_bits();
  return {width, spec.storage_bits > 8 ? 128 / spec.storage_bits : 16};
}

std::uint32_t k_major_byte(const MatrixDescriptor& matrix, int row, int byte) {
  const auto r = static_cast<std::uint32_t>(row), b = static_cast<std::uint32_t>(byte);
  const auto width = static_cast<std::uint32_t>(matrix.swizzle.bytes);
  // Without swizzle the 16-byte pieces of a row lie a leading offset apart; with it they are neighbours.
  const std::uint32_t along = matrix.swizzle.bits == 0 ? b / kPiece * matrix.leading + b % kPiece : b;
  return swizzled(matrix.start + r % 8 * width + r / 8 * matrix.stride + along, matrix.swizzle);
}

ElementPlace element_place(const MatrixDescriptor& matrix, const Packing& packing, bool transposed, int row,
                           int k) {
  // Along the contiguous direction elements fill pieces; the padding of narrow formats is at a piece's end.
  const int run = transposed ? row : k;
  const int piece = run / packing.count, bit = run % packing.count * packing.width;
  const auto within = static_cast<std::uint32_t>(bit / 8);
  if (!transposed) return {k_major_byte(matrix, row, piece * static_cast<int>(kPiece)) + within, bit % 8};
  const auto p = static_cast<std::uint32_t>(piece), column = static_cast<std::uint32_t>(k);
  const auto width = static_cast<std::uint32_t>(matrix.swizzle.bytes), pieces = width / kPiece;
  const bool plain = matrix.swizzle.bits == 0;
  const std::uint32_t address = matrix.start + p % pieces * kPiece +
                                p / pieces * (plain ? matrix.stride : matrix.leading) + column % 8 * width +
                                column / 8 * (plain ? matrix.leading : matrix.stride);
  return {swizzled(address, matrix.swizzle) + within, bit % 8};
}

void put_bits(std::span<std::uint8_t> memory, std::uint32_t byte, int bit, int width, std::uint64_t bits) {
  for (int i = 0; i < width; ++i) {
    const std::uint32_t at = byte + static_cast<std::uint32_t>(bit + i) / 8;
    const auto mask = static_cast<std::uint8_t>(1U << (bit + i) % 8);
    memory[at] = static_cast<std::uint8_t>((memory[at] & ~mask) | ((bits >> i & 1U) != 0 ? mask : 0));
  }
}

}  // namespace mmaudit::tmem
