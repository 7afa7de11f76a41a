#pragma once
// What the benchmarks of data draw: every datapath, and data that is kind and data that is not.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit::bench {

struct Path {
  const char *name, *architecture, *instruction;
};
std::span<const Path> paths();

/// A factor of the product as it is drawn: element (row or column `line`, position `k`).
struct Draw {
  std::mt19937_64& random;
  const FormatSpec& format;  ///< of the element, or of the scale where there are scales
  std::uint64_t line, k;
  bool of_b;

  double normal() { return std::normal_distribution<double>()(random); }
  double uniform() { return std::uniform_real_distribution<double>(-1, 1)(random); }
  double outlier(double times) { return normal() * (!of_b && k % 97 == 13 ? times : 1); }
  double student() {  // with two degrees of freedom
    const double x = normal(), y = normal(), z = normal();
    return x / std::sqrt((y * y + z * z) / 2);
  }
};

enum class Put { numbers, any_bits, any_scales, infinity, nan, cancel };
struct DataSet {
  const char* name;
  Put put;
  double (*number)(Draw& draw);
};
std::span<const DataSet> data_sets();

/// Elements and scales of one operand: A as (lines, depth), B as (depth, lines).
struct DrawnOperand {
  std::vector<std::byte> elements;
  std::vector<std::uint8_t> scales;
  bool has_special = false;
};

/// `scale`: null where there are none; `block`: elements of k per scale.
DrawnOperand drawn(const DataSet& set, const FormatSpec& format, const FormatSpec* scale, std::uint64_t block,
                   std::uint64_t lines, std::uint64_t depth, bool of_b, std::uint64_t seed);

}  // namespace mmaudit::bench
