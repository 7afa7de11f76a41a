#pragma once
// Products whose errors the tests look at.
#include <gtest/gtest.h>

#include <vector>

#include "mmaudit/report/gemm_study.hpp"

namespace mmaudit::report {

__extension__ using Wide = __float128;

struct Problem {
  std::uint64_t m, n, k;
  std::vector<double> a, b;
  [[nodiscard]] GemmOperands operands() const { return {m, n, k, a, b, {}, 0, 0}; }
};

inline Problem drawn(Distribution distribution, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                     std::uint64_t seed = 1) {
  return {m, n, k, draw_a(distribution, m, k, seed), draw_b(distribution, k, n, seed)};
}

inline Problem filled(std::uint64_t m, std::uint64_t n, std::uint64_t k, double a, double b) {
  return {m, n, k, std::vector<double>(m * k, a), std::vector<double>(k * n, b)};
}

inline GemmCombination combination(const char* architecture, const char* dtype, Scaling scaling,
                                   const char* how, Format output = Format::none) {
  return settled({find_architecture(architecture),
                  *find_gemm_dtype(dtype),
                  scaling,
                  *find_accumulation(how),
                  output,
                  {}});
}

struct Computed {
  std::vector<double> exact;
  ConvertedOperands converted;
  GemmElements elements;
  GemmErrors errors;
};

inline Computed computed(const GemmCombination& c, const Problem& problem) {
  const GemmPath path = find_path(c);
  EXPECT_EQ(path.why_not, "");
  Computed out{
      exact_product(problem.operands()), convert_operands(c.dtype, c.scaling, problem.operands()), {}, {}};
  out.elements = compute_elements(c, path, out.converted, {});
  out.errors = errors_of(out.exact, out.converted, out.elements, c.output);
  return out;
}

inline const GemmCombination kSome[] = {
    combination("hopper", "e4m3", scalings::tensor, "plain"),
    combination("hopper", "e4m3", scalings::blocks, "promote:128"),
    combination("hopper", "e5m2", scalings::row, "promote:32"),
    combination("hopper", "e4m3", scalings::none, "half"),
    combination("hopper", "bf16", scalings::none, "plain"),
    combination("hopper", "f16", scalings::none, "half"),
    combination("hopper", "f16", scalings::none, "split-k:3"),
    combination("hopper", "tf32", scalings::none, "split-k:4"),
    combination("ada", "e4m3", scalings::tensor, "plain"),
    combination("volta", "f16", scalings::none, "plain"),
    combination("blackwell", "mxf8", scalings::mx_ceil, "promote:64"),
    combination("blackwell", "nvf4", scalings::mx, "plain"),
    combination("blackwell", "mxf6", scalings::mx_floor, "plain"),
    combination("blackwell", "mxf6-e3m2", scalings::mx_ceil, "plain"),
    combination("hopper", "e4m3", scalings::tiles, "promote:128"),
};

}  // namespace mmaudit::report
