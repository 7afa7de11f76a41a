#pragma once
// Numbers as a person types them, to the bits of a format.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit {

struct ParsedValue {
  std::uint64_t bits = 0;
  std::string error;  ///< empty: `bits` holds the value; else what is wrong, as "found ..., allowed: ..."
};

/// "1.5", "-2^-12", "1.5*2^-3", "0x1.8p-4" (value); "0x3c01" (raw bits of the storage width); "inf", "-inf",
/// "nan", "max", "min" (least normal), "tiny" (least subnormal), each with an optional minus sign. A value
/// that the format does not hold exactly is an error: nothing is rounded silently. Integers: decimal digits,
/// raw bits, "max", "min" (least).
ParsedValue parse_value(std::string_view text, const FormatSpec& format);

/// The value of raw bits, shortest decimal that reads back to the same binary64; "nan", "inf", "-0".
std::string value_text(std::uint64_t bits, const FormatSpec& format);

/// Raw bits as hexadecimal digits of the storage width, without prefix.
std::string hex_text(std::uint64_t bits, int storage_bits);

/// Both: "0x3c00 = 1".
std::string hex_value(std::uint64_t bits, const FormatSpec& format);

/// hex_text() of several elements of one format.
std::vector<std::string> hex_texts(const std::vector<std::uint64_t>& bits, Format format);

}  // namespace mmaudit
