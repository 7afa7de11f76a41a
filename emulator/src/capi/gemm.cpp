// The C interface: a library's product by its plan.
#include <algorithm>

#include "field_reader.hpp"
#include "guard.hpp"
#include "mmaudit/gemm_epilogue.hpp"
#include "mmaudit/library_log.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::capi {
namespace {

/// The fields that have no place of their own in mmaudit_gemm.
void take_fields(std::string_view text, GemmProblem& out) {
  FieldReader reader("problem", text);
  for (const auto& [name, value] : {std::pair{"lda", &out.lda},
                                    {"ldb", &out.ldb},
                                    {"ldd", &out.ldd},
                                    {"offset_a", &out.offset_a},
                                    {"offset_b", &out.offset_b},
                                    {"offset_d", &out.offset_d},
                                    {"stride_a", &out.stride_a},
                                    {"stride_b", &out.stride_b},
                                    {"stride_d", &out.stride_d},
                                    {"workspace", &out.workspace},
                                    {"algorithm", &out.algorithm}})
    reader.count(name, *value, 0);
  reader.count("batch", out.batch, 1);
  reader.boolean("fast_accum", out.fast_accum);
  reader.boolean("reduced_reduction", out.reduced_reduction);
  reader.number("alpha", out.alpha);
  reader.number("beta", out.beta);
  reader.number("scale_a", out.scale_a);
  reader.number("scale_b", out.scale_b);
  reader.boolean("bias", out.bias);
  reader.choice("activation", names::kGemmActivation, out.activation);
  reader.finish();
}

GemmProblem problem_of(const mmaudit_gemm& work) {
  GemmProblem out;
  out.m = work.m;
  out.n = work.n;
  out.k = work.k;
  out.type = capi::format_of("type", work.type).id;
  if (work.d_format != nullptr) out.d = capi::format_of("d_format", work.d_format).id;
  const std::string_view layout = work.layout == nullptr ? "nn" : work.layout;
  const auto* const found = std::find(std::begin(names::kLayout), std::end(names::kLayout), layout);
  if (found == std::end(names::kLayout))
    refuse("layout: found {}, allowed: {}", layout, names_of(names::kLayout));
  out.transposed_a = layout[0] == 't';
  out.transposed_b = layout[1] == 't';
  const std::string_view api = work.like == nullptr ? "cublaslt" : work.like;
  const auto* const named = std::find(std::begin(names::kGemmApi), std::end(names::kGemmApi), api);
  if (named == std::end(names::kGemmApi))
    refuse("like: found {}, allowed: {}", api, names_of(names::kGemmApi));
  out.api = static_cast<GemmApi>(named - names::kGemmApi);
  if (work.problem != nullptr) take_fields(work.problem, out);
  if (const std::string why = why_no_problem(out); !why.empty()) throw InputError(why);
  return out;
}

GemmPlan given_plan(const mmaudit_gemm& work, const GemmProblem& problem) {
  GemmPlan plan;
  plan.output = output_of(problem);
  FieldReader reader("plan", work.plan);
  bool scalar = false;
  reader.boolean("scalar", scalar);
  if (scalar) {
    Format a = problem.type, b = b_type_of(problem);
    reader.format("a", a);
    reader.format("b", b);
    plan.instruction = scalar_instruction(a, b);
  }
  for_each_field(plan, reader);
  reader.finish();
  if (!scalar && plan.instruction.k == 0) refuse("plan: found no instruction, allowed: instruction=NAME");
  return plan;
}

GemmPlan plan_for(const mmaudit_gemm& work, const GemmProblem& problem) {
  if ((work.plan == nullptr) == (work.kernels == nullptr))
    refuse("plan, kernels: found {}, allowed: one", work.plan == nullptr ? "neither" : "both");
  if (work.plan != nullptr) return given_plan(work, problem);
  LibraryCall call;
  const std::string_view attributes = work.algorithm == nullptr ? "" : work.algorithm;
  for (const char* const name : {"split_k", "reduction", "custom"}) {
    const auto word = log::value_in(attributes, name);
    if (!word) continue;
    const auto value = whole_number<std::int64_t>(*word);
    if (!value) refuse("algorithm: {}: found {}, allowed: an integer", name, *word);
    call.algorithm.emplace_back(name, *value);
  }
  for (std::string_view rest = work.kernels; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    call.kernels.emplace_back().name = name;
  }
  if (!call.kernels.empty()) {
    std::copy(std::begin(work.grid), std::end(work.grid), call.kernels[0].grid);
    std::copy(std::begin(work.block), std::end(work.block), call.kernels[0].block);
    std::copy(std::begin(work.cluster), std::end(work.cluster), call.kernels[0].cluster);
  }
  std::string why;
  const auto plan = plan_of(problem, call, &why);
  if (!plan) refuse("kernels: found {}, allowed: kernels of docs/gemm.md", why);
  return *plan;
}

void run_gemm(const mmaudit_gemm& work, char** plan_text) {
  const GemmProblem problem = problem_of(work);
  const GemmPlan plan = plan_for(work, problem);
  const FormatSpec output = spec_of(plan.output);
  const Axis batch{"batch", problem.batch}, of_a{"batch", matrices_of_a(problem)},
      of_b{"batch", matrices_of_b(problem)};
  require("a", work.a, {of_a, {"m", work.m}, {"k", work.k}}, spec_of(problem.type));
  require("b", work.b, {of_b, {"k", work.k}, {"n", work.n}}, spec_of(b_type_of(problem)));
  require("d", work.d, {batch, {"m", work.m}, {"n", work.n}}, output);
  const auto addend = [](const char* field, mmaudit_in array, bool reads, std::initializer_list<Axis> axes,
                         const FormatSpec& format) {
    if (!reads && given(array))
      refuse("{}: found one, allowed: none without beta or bias in the problem", field);
    if (reads) require(field, array, axes, format);
  };
  addend("c", work.c, problem.beta != 0, {batch, {"m", work.m}, {"n", work.n}}, output);
  addend("bias", work.bias, problem.bias, {{"n", work.n}}, spec_of(bias_type_of(problem)));
  for (const auto& [field, array] :
       {std::pair{"a", work.a}, {"b", work.b}, {"c", work.c}, {"bias", work.bias}})
    require_apart(field, work.d, array);
  const Datapath datapath =
      plan.scalar ? Datapath{} : entry_of(architecture_of("hopper"), plan.instruction).datapath;
  if (const std::string why = why_no_gemm(problem, plan, datapath); !why.empty()) throw InputError(why);
  const GemmBuffers operands{work.a.data, work.b.data, work.c.data, work.bias.data};
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix)
    predict_gemm(problem, plan, datapath, work.m, work.n, matrix_of(problem, operands, matrix),
                 static_cast<std::byte*>(work.d.data) + matrix * work.m * work.n * output.storage_bytes(),
                 [&](const Instruction& instruction, const Datapath& model, const Matmul& part) {
                   MatmulOptions options;
                   options.threads = work.threads;
                   matmul(instruction, model, part, options);
                 });
  if (plan_text != nullptr) give_text(plan_text, [&] { return text_of(plan); });
}

}  // namespace
}  // namespace mmaudit::capi

using namespace mmaudit::capi;

extern "C" int mmaudit_gemm_predict(const mmaudit_gemm* work, char** plan_text) {
  return guarded([&] { run_gemm(taken(work), plan_text); });
}
