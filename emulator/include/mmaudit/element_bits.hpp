#pragma once
// Elements narrower than a byte travel one per byte, in its low bits.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {

/// Why `bytes` are no elements of `format`, one each: the first with a bit above the value, unless an
/// integer's sign is extended. Packed elements are found so. Empty where they are, and for formats that fill
/// their bytes.
inline std::string why_bad_elements(const FormatSpec& format, std::span<const std::uint8_t> bytes) {
  if (format.storage_bits != 8 || format.signless || format.value_bits() >= 8) return {};
  const auto high = static_cast<std::uint8_t>(0xFFU << format.value_bits());
  const auto negative = static_cast<std::uint8_t>(high | (high >> 1U));
  unsigned any = 0;
  for (const std::uint8_t byte : bytes) any |= byte;
  if ((any & high) == 0) return {};
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool sign = format.encoding == Encoding::signed_integer && (bytes[at] & negative) == negative;
    if ((bytes[at] & high) == 0 || sign) continue;
    char digits[2] = {};
    const std::string hex(digits, std::to_chars(digits, digits + 2, bytes[at], 16).ptr);
    return refusal("found the byte 0x{} at {}, allowed: {}, one per byte in its low {} bits, not packed", hex,
                   at, name_of(format.id), format.value_bits());
  }
  return {};
}

}  // namespace mmaudit
