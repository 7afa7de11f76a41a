#include "mmaudit/gemm_problem.hpp"

#include <charconv>
#include <cmath>

#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

/// offset + (rows - 1) * ld + columns.
std::optional<std::uint64_t> extent(std::uint64_t rows, std::uint64_t columns, std::uint64_t ld,
                                    std::uint64_t offset) {
  std::uint64_t out = 0;
  if (rows == 0 || columns == 0) return 0;
  if (__builtin_mul_overflow(rows - 1, ld == 0 ? columns : ld, &out) ||
      __builtin_add_overflow(out, columns, &out) || __builtin_add_overflow(out, offset, &out) ||
      out > (std::uint64_t{1} << 63))
    return std::nullopt;
  return out;
}

/// The shortest text that reads back as this number.
template <typename Number>
std::string shortest(Number value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// A factor as the library reads it: binary64 of f64, else binary32.
std::string factor_text(const GemmProblem& problem, double value) {
  return problem.type == Format::f64 ? shortest(value) : shortest(static_cast<float>(value));
}

/// Elements that one matrix takes, without its offset.
struct MatrixExtents {
  std::optional<std::uint64_t> a, b, d;
};
MatrixExtents matrix_extents(const GemmProblem& x) {
  return {x.transposed_a ? extent(x.k, x.m, x.lda, 0) : extent(x.m, x.k, x.lda, 0),
          x.transposed_b ? extent(x.n, x.k, x.ldb, 0) : extent(x.k, x.n, x.ldb, 0),
          extent(x.m, x.n, x.ldd, 0)};
}

std::string why_no_batch(const GemmProblem& x) {
  constexpr std::uint64_t kMost = 65535;  // blocks of a grid's third dimension, where kernels put a batch
  if (x.batch == 0 || x.batch > kMost) return refusal("batch: found {}, allowed: 1 to 65535", x.batch);
  const MatrixExtents one = matrix_extents(x);
  for (const auto& [field, stride, least, may_share] :
       {std::tuple{"stride_a", x.stride_a, one.a.value_or(0), true},
        {"stride_b", x.stride_b, one.b.value_or(0), true},
        {"stride_d", x.stride_d, one.d.value_or(0), false}}) {
    if (stride == kTightStride) continue;
    if (x.batch == 1) return refusal("{}: found {}, allowed: none without a batch", field, stride);
    if (!(may_share && stride == 0) && (stride < least || stride > INT64_MAX))
      return refusal("{}: found {}, allowed: {}{} on", field, stride,
                     may_share ? "0 (one matrix for all) or from " : "from ", least);
  }
  return {};
}

std::string why_no_epilogue(const GemmProblem& problem) {
  const std::string type(name_of(problem.type));
  const bool wide = problem.type == Format::f64;
  for (const auto& [field, value] : {std::pair{"alpha", problem.alpha},
                                     {"beta", problem.beta},
                                     {"scale_a", double{problem.scale_a}},
                                     {"scale_b", double{problem.scale_b}}})
    if (!std::isfinite(value) || (!wide && !std::isfinite(static_cast<float>(value))))
      return refusal("{}: found {}, allowed: {}", field, shortest(value),
                     wide ? "a finite number" : "a finite binary32 number");
  if (problem.type == Format::s8 && has_epilogue(problem))
    return refusal("alpha, beta, bias, activation: found others, allowed: 1, 0, none with s8");
  if ((problem.scale_a != 1 || problem.scale_b != 1) && !is_fp8(problem.type))
    return refusal("scale_a, scale_b: found others, allowed: 1 but with FP8");
  if (is_fp8(output_of(problem)) && problem.beta != 0)
    return refusal("beta: found {}, allowed: 0 with D of FP8", shortest(problem.beta));
  if (problem.api == GemmApi::cublas && (problem.bias || problem.activation != GemmActivation::none))
    return refusal("bias, activation: found some, allowed: none with cublas");
  return {};
}

}  // namespace

Format bias_type_of(const GemmProblem& problem) {
  const Format d = output_of(problem);
  return is_fp8(problem.type) && (d == Format::f32 || is_fp8(d)) ? Format::bf16 : d;
}

bool has_epilogue(const GemmProblem& problem) {
  return problem.alpha != 1 || problem.beta != 0 || problem.scale_a != 1 || problem.scale_b != 1 ||
         problem.bias || problem.activation != GemmActivation::none;
}

Format output_of(const GemmProblem& problem) {
  if (problem.d != Format::none) return problem.d;
  if (problem.type == Format::tf32) return Format::f32;
  if (problem.type == Format::s8) return Format::s32;
  return is_fp8(problem.type) ? Format::bf16 : problem.type;
}

Format b_type_of(const GemmProblem& problem) {
  return problem.type == Format::e5m2 ? Format::e4m3 : problem.type;
}

std::string_view layout_of(const GemmProblem& problem) {
  return names::kLayout[(problem.transposed_a ? 2 : 0) + (problem.transposed_b ? 1 : 0)];
}

std::string name_of(const GemmProblem& problem) {
  std::string out(name_in(names::kGemmApi, problem.api));
  out += " " + std::string(name_of(problem.type)) + " -> " + std::string(name_of(output_of(problem))) + " " +
         std::string(layout_of(problem)) + " " + std::to_string(problem.m) + " x " +
         std::to_string(problem.n) + " x " + std::to_string(problem.k);
  if (problem.fast_accum) out += " fast";
  if (!problem.reduced_reduction) out += " full-reduction";
  const GemmProblem plain;
  for (const auto& [name, value, usual] : {std::tuple{"lda", problem.lda, plain.lda},
                                           {"ldb", problem.ldb, plain.ldb},
                                           {"ldd", problem.ldd, plain.ldd},
                                           {"offset_a", problem.offset_a, plain.offset_a},
                                           {"offset_b", problem.offset_b, plain.offset_b},
                                           {"offset_d", problem.offset_d, plain.offset_d},
                                           {"batch", problem.batch, plain.batch},
                                           {"stride_a", problem.stride_a, plain.stride_a},
                                           {"stride_b", problem.stride_b, plain.stride_b},
                                           {"stride_d", problem.stride_d, plain.stride_d},
                                           {"workspace", problem.workspace, plain.workspace},
                                           {"algorithm", problem.algorithm, plain.algorithm}})
    if (value != usual) out += " " + std::string(name) + " " + std::to_string(value);
  if (problem.alpha != 1) out += " alpha " + factor_text(problem, problem.alpha);
  if (problem.beta != 0) out += " beta " + factor_text(problem, problem.beta);
  if (problem.scale_a != 1) out += " scale_a " + shortest(problem.scale_a);
  if (problem.scale_b != 1) out += " scale_b " + shortest(problem.scale_b);
  if (problem.bias) out += " bias";
  if (problem.activation != GemmActivation::none)
    out += " " + std::string(name_in(names::kGemmActivation, problem.activation));
  return out;
}

std::string why_no_problem(const GemmProblem& problem) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;  // cuBLAS counts in int
  for (const auto& [field, value] : {std::pair{"m", problem.m}, {"n", problem.n}, {"k", problem.k}})
    if (value == 0 || value >= kMost) return refusal("{}: found {}, allowed: 1 to 2147483647", field, value);
  const Format type = problem.type, d = output_of(problem);
  const bool known = type == Format::f16 || type == Format::bf16 || type == Format::tf32 ||
                     type == Format::f32 || type == Format::f64 || type == Format::s8 || is_fp8(type);
  if (!known)
    return refusal("type: found {}, allowed: f16, bf16, tf32, f32, f64, e4m3, e5m2, s8", name_of(type));
  const bool exact = type == Format::tf32 || type == Format::f32 || type == Format::f64 || type == Format::s8;
  const Format only = type == Format::s8 ? Format::s32 : type == Format::f64 ? Format::f64 : Format::f32;
  if (exact ? d != only
            : d != Format::f32 && d != type && !(is_fp8(type) && (d == Format::bf16 || d == Format::f16)))
    return refusal("d: found {}, allowed: {}", name_of(d),
                   exact          ? std::string(name_of(only))
                   : is_fp8(type) ? "bf16, f16, f32, " + std::string(name_of(type))
                                  : std::string(name_of(type)) + ", f32");
  if (is_fp8(type) && problem.api == GemmApi::cublas)
    return refusal("api: found cublas with FP8, allowed: cublaslt");
  if (is_fp8(type) && (problem.transposed_a || !problem.transposed_b))
    return refusal("layout: found {}, allowed: nt with FP8", layout_of(problem));
  constexpr std::uint64_t kMostAlgorithms = 64;
  if (problem.algorithm >= kMostAlgorithms || (problem.algorithm != 0 && problem.api == GemmApi::cublas))
    return refusal("algorithm: found {}, allowed: 0 to 63 with cublaslt, 0 with cublas", problem.algorithm);
  if (problem.fast_accum && !is_fp8(type))
    return refusal("fast_accum: found true, allowed: false but with FP8");
  for (const auto& [field, ld, least] :
       {std::tuple{"lda", problem.lda, problem.transposed_a ? problem.m : problem.k},
        {"ldb", problem.ldb, problem.transposed_b ? problem.k : problem.n},
        {"ldd", problem.ldd, problem.n}})
    if (ld != 0 && (ld < least || ld >= kMost))
      return refusal("{}: found {}, allowed: 0 or {} to 2147483647", field, ld, least);
  if (std::string why = why_no_batch(problem); !why.empty()) return why;
  if (!extents_of(problem)) return refusal("sizes: found more than 2^63 elements, allowed: less");
  return why_no_epilogue(problem);
}

GemmStrides strides_of(const GemmProblem& x) {
  if (x.batch == 1) return {};
  const MatrixExtents one = matrix_extents(x);
  const auto stride = [](std::uint64_t asked, std::optional<std::uint64_t> tight) {
    return asked == kTightStride ? tight.value_or(0) : asked;
  };
  return {stride(x.stride_a, one.a), stride(x.stride_b, one.b), stride(x.stride_d, one.d)};
}

std::uint64_t matrices_of_a(const GemmProblem& x) { return x.stride_a == 0 ? 1 : x.batch; }
std::uint64_t matrices_of_b(const GemmProblem& x) { return x.stride_b == 0 ? 1 : x.batch; }

std::optional<GemmExtents> extents_of(const GemmProblem& x) {
  const MatrixExtents one = matrix_extents(x);
  const GemmStrides strides = strides_of(x);
  if (!one.a || !one.b || !one.d) return std::nullopt;
  // A batch is a matrix whose rows are the matrices.
  const auto a = extent(x.batch, *one.a, strides.a, x.offset_a),
             b = extent(x.batch, *one.b, strides.b, x.offset_b),
             d = extent(x.batch, *one.d, strides.d, x.offset_d);
  if (!a || !b || !d) return std::nullopt;
  // extent() takes a stride of 0 for a tight one: here it is one matrix.
  return GemmExtents{strides.a == 0 ? *one.a + x.offset_a : *a, strides.b == 0 ? *one.b + x.offset_b : *b,
                     *d};
}

}  // namespace mmaudit
