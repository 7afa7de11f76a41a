#pragma once
// A ring of cache lines in an order that no prefetcher foresees, without a table: the line at place j of the
// ring and the place of the next are formulas, so a GPU fills it and the host knows where a chase ends.
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::sweeps {

inline constexpr std::uint32_t kLineBytes = 128;
/// What a cache fetches at once of a line.
inline constexpr std::uint32_t kSectorBytes = 32;

/// What: a bijection of [0, 2^bits): odd factors and shifted sums, each of which can be undone.
MMAUDIT_HD constexpr std::uint32_t scrambled(std::uint32_t value, int bits) {
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
  const int half = (bits + 1) / 2;
  value = (value * 0x9E3779B1U + 0x7F4A7C15U) & mask;
  value ^= value >> half;
  value = (value * 0x85EBCA77U) & mask;
  value ^= value >> half;
  return (value * 0xC2B2AE3DU + 0x27D4EB2FU) & mask;
}

/// What: the line at a place of a ring of `lines`. Range: place < lines, 1 <= lines <= 2^31; every line is at
/// one place. A line outside the ring is scrambled again until it falls inside.
MMAUDIT_HD constexpr std::uint32_t line_at(std::uint32_t place, std::uint32_t lines) {
  int bits = 1;
  while ((std::uint64_t{1} << bits) < lines) ++bits;
  std::uint32_t line = place;
  do line = scrambled(line, bits);
  while (line >= lines);
  return line;
}

}  // namespace mmaudit::sweeps
