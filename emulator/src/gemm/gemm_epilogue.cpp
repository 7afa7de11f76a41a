#include "mmaudit/gemm_epilogue.hpp"

#include <bit>
#include <cmath>

#include "mmaudit/epilogue.hpp"
#include "mmaudit/functions/evaluate.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

/// Whether D is more than a sum that is rounded: FP8 saturates.
bool has_end(const GemmProblem& problem, const GemmPlan& plan) {
  return has_epilogue(problem) || is_fp8(plan.output);
}

/// The bits of a format that are nearest to a number; beyond its largest one FP8 has that one.
std::uint64_t rounded(float x, const FormatSpec& format) {
  return encode_nearest_even(x, format, format.storage_bytes() == 1);
}
std::uint64_t rounded(double x, const FormatSpec& /*f64*/) { return std::bit_cast<std::uint64_t>(x); }

float tanh_approx(float x) {
  return functions::as_float(functions::mufu(functions::Op::tanh, functions::bits_of(x), functions::kUnit));
}

float gelu(float x, GeluRule rule) {
  constexpr float kFactor = 0x1.988454p-1F, kCube = 0.044715F,
                  kBoth = 0x1.2444FCp-5F;  // sqrt(2 / pi); product
  x += 0.0F;                               // without a bias +0 is added
  if (rule == GeluRule::factored)
    return (0.5F * x) * (1 + tanh_approx((kFactor * x) * std::fma(kCube * x, x, 1.0F)));
  return 0.5F * std::fma(x, tanh_approx(std::fma(kBoth * x, x, kFactor) * x), x);
}

/// The plan of the sums alone, before their epilogue.
GemmPlan plan_of_sums(const GemmProblem& problem, const GemmPlan& plan) {
  GemmPlan out = plan;
  if (has_end(problem, plan) && plan.output != Format::f64) out.output = Format::f32;
  return out;
}

template <typename Number>
void finish(const GemmProblem& problem, const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
            const Number* sums, const void* c, const void* bias, void* d) {
  const FormatSpec of_d = spec_of(plan.output), of_bias = spec_of(bias_type_of(problem));
  const auto value = [](const void* from, const FormatSpec& format, std::uint64_t index) {
    return static_cast<Number>(decode_value(load_word(from, format.storage_bytes(), index), format));
  };
  const Number alpha = static_cast<Number>(problem.alpha) * problem.scale_b * problem.scale_a,
               beta = static_cast<Number>(problem.beta);
  const FormatSpec before_bias = spec_of(plan.before_bias);
  const bool bias_first = problem.bias && beta != 0 && plan.epilogue == EpilogueRule::rounded_sum;
  for (std::uint64_t e = 0; e < rows * columns; ++e) {
    const Number of_c = beta == 0 ? Number{0} : value(c, of_d, e);
    const Number added = problem.bias ? value(bias, of_bias, e % columns) : Number{0};
    Number x = bias_first ? combined(plan.epilogue, of_d, Number{1}, alpha * sums[e] + added, beta, of_c)
                          : combined(plan.epilogue, of_d, alpha, sums[e], beta, of_c);
    if (plan.before_bias != Format::f32)
      x = static_cast<Number>(decode_value(rounded(x, before_bias), before_bias));
    if (problem.bias && !bias_first) x += added;
    if (problem.activation == GemmActivation::relu && !(x > 0)) x = 0;
    if (problem.activation == GemmActivation::gelu) x = gelu(static_cast<float>(x), plan.gelu);
    store_word(d, of_d.storage_bytes(), e, rounded(x, of_d));
  }
}

}  // namespace

void finish_gemm(const GemmProblem& problem, const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                 const float* sums, const void* c, const void* bias, void* d) {
  finish(problem, plan, rows, columns, sums, c, bias, d);
}
void finish_gemm(const GemmProblem& problem, const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                 const double* sums, const void* c, const void* bias, void* d) {
  finish(problem, plan, rows, columns, sums, c, bias, d);
}

GemmBuffers matrix_of(const GemmProblem& problem, const GemmBuffers& operands, std::uint64_t matrix) {
  const auto at = [&](const void* base, std::uint64_t elements, Format format) -> const void* {
    if (base == nullptr) return nullptr;
    return static_cast<const std::byte*>(base) + matrix * elements * spec_of(format).storage_bytes();
  };
  GemmBuffers out = operands;
  if (matrices_of_a(problem) != 1) out.a = at(operands.a, problem.m * problem.k, problem.type);
  if (matrices_of_b(problem) != 1) out.b = at(operands.b, problem.k * problem.n, b_type_of(problem));
  out.c = at(operands.c, problem.m * problem.n, output_of(problem));
  return out;
}

std::string why_no_gemm(const GemmProblem& problem, const GemmPlan& plan, const Datapath& datapath) {
  const auto in_memory = [](Format format) { return format == Format::tf32 ? Format::f32 : format; };
  const auto both = [](Format a, Format b) {
    return std::string(name_of(a)) + " and " + std::string(name_of(b));
  };
  const Format a = problem.type, b = b_type_of(problem);
  if (in_memory(plan.instruction.a) != in_memory(a) || in_memory(plan.instruction.b) != in_memory(b))
    return refusal("{}: found {}, allowed: {}{}, as A and B of the problem are",
                   plan.scalar ? "a, b" : "instruction",
                   plan.scalar ? both(plan.instruction.a, plan.instruction.b) : name_of(plan.instruction),
                   plan.scalar ? "" : "one of ", both(a, b));
  if (plan.output != output_of(problem))
    return refusal("output: found {}, allowed: {}, as D of the problem is", name_of(plan.output),
                   name_of(output_of(problem)));
  if (problem.activation == GemmActivation::gelu && plan.output == Format::f64)
    return refusal("activation: found gelu, allowed: none, relu with f64");
  if (plan.c_place != CPlace::epilogue &&
      (problem.alpha != 1 || problem.scale_a != 1 || problem.scale_b != 1 || problem.bias ||
       problem.activation != GemmActivation::none || (problem.beta != 0 && problem.beta != 1)))
    return refusal("c_place: found {}, allowed: epilogue but for a problem that is A B or A B + C",
                   names::kCPlace[static_cast<std::size_t>(plan.c_place)]);
  Matmul product;
  product.m = problem.m;
  product.n = problem.n;
  product.k = problem.k;
  return why_no_prediction(plan_of_sums(problem, plan), datapath, product);
}

void predict_gemm(const GemmProblem& problem, const GemmPlan& plan, const Datapath& datapath,
                  std::uint64_t rows, std::uint64_t columns, const GemmBuffers& operands, void* d,
                  const Product& product) {
  const GemmPlan of_sums = plan_of_sums(problem, plan);
  Matmul work;
  work.m = rows;
  work.n = columns;
  work.k = problem.k;
  work.a = operands.a;
  work.b = operands.b;
  work.d = d;
  if (plan.c_place != CPlace::epilogue) {
    if (problem.beta != 0) work.c = operands.c;
    return predict(plan, datapath, work, product);
  }
  if (!has_end(problem, plan)) return predict(of_sums, datapath, work, product);
  const auto finished = [&](auto sums) {
    work.d = sums.data();
    predict(of_sums, datapath, work, product);
    finish(problem, plan, rows, columns, sums.data(), operands.c, operands.bias, d);
  };
  if (of_sums.output == Format::f64)
    finished(std::vector<double>(rows * columns));
  else
    finished(std::vector<float>(rows * columns));
}

}  // namespace mmaudit
