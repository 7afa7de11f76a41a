#include "mmaudit/gemm_epilogue.hpp"

#include <bit>
#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {

void finish_gemm(const GemmProblem& problem, const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                 const float* sums, const void* c, const void* bias, void* d) {
  if (problem.activation == GemmActivation::gelu)
    throw InputError("activation: found gelu, allowed: none, relu where D is predicted");
  const FormatSpec f32 = spec_of(Format::f32), of_d = spec_of(plan.output),
                   of_bias = spec_of(bias_type_of(problem));
  const auto value = [](const void* from, const FormatSpec& format, std::uint64_t index) {
    return static_cast<float>(decode_value(load_word(from, format.storage_bytes(), index), format));
  };
  const auto rounded = [&](float x) { return cast_bits(std::bit_cast<std::uint32_t>(x), f32, of_d, {}); };
  const float alpha = problem.alpha * problem.scale_b * problem.scale_a, beta = problem.beta;
  for (std::uint64_t e = 0; e < rows * columns; ++e) {
    float x = sums[e];
    if (beta == 0) {
      x = alpha * x;
    } else {
      const float of_c = value(c, of_d, e);
      switch (plan.epilogue) {
        case EpilogueRule::fused_sum:
          x = std::fma(alpha, x, beta * of_c);
          break;
        case EpilogueRule::fused_c:
          x = std::fma(beta, of_c, alpha * x);
          break;
        case EpilogueRule::rounded_sum:
          x = static_cast<float>(decode_value(rounded(alpha * x), of_d)) + beta * of_c;
          break;
      }
    }
    if (problem.bias) x += value(bias, of_bias, e % columns);
    if (problem.activation == GemmActivation::relu && !(x > 0)) x = 0;
    store_word(d, of_d.storage_bytes(), e, rounded(x));
  }
}

}  // namespace mmaudit
