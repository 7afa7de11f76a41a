#pragma once
// Operands of the benchmarks.
#include <cstddef>
#include <random>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {

/// Numbers of N(0, 1) in a format.
inline std::vector<std::byte> normal_values(std::size_t count, Format format, unsigned seed) {
  const std::size_t bytes = spec_of(format).storage_bytes();
  std::vector<std::byte> buffer(count * bytes);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < count; ++i)
    store_word(buffer.data(), bytes, i, encode_nearest_even(normal(random), spec_of(format)));
  return buffer;
}

}  // namespace mmaudit
