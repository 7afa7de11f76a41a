#pragma once
// An audit of a small product on Hopper, as several tests of reports use it.
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/gemm_study.hpp"

namespace mmaudit::report {

inline GemmCombination combination(const char* dtype, Scaling scaling, const char* how,
                                   Format output = Format::none) {
  return settled(
      {find_architecture("hopper"), *find_gemm_dtype(dtype), scaling, *find_accumulation(how), output, {}});
}

struct Fixture {
  std::vector<double> a = draw_a(Distribution::normal, 12, 256, 1),
                      b = draw_b(Distribution::normal, 256, 20, 1);
  GemmAuditRequest request;
  Fixture() {
    request.combinations = {combination("e4m3", scalings::tensor, "plain"),
                            combination("bf16", scalings::none, "plain"),
                            combination("f16", scalings::mx, "plain")};
    request.operands = {12, 20, 256, a, b, {}, 0, 0};
    request.whole_m = 12;
    request.whole_n = 20;
    request.limit = 1e-2;
  }
};

}  // namespace mmaudit::report
