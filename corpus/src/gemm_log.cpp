// Problems from outside: JSON lines, or what cuBLASLt logs.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/library_log.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::corpus {
namespace {

using log::number_in;
using log::value_in;

struct LogType {
  std::string_view name;
  Format format;
};
constexpr LogType kTypes[] = {{"R_16F", Format::f16},      {"R_16BF", Format::bf16},
                              {"R_32F", Format::tf32},     {"R_64F", Format::f64},
                              {"R_8F_E4M3", Format::e4m3}, {"R_8F_E5M2", Format::e5m2},
                              {"R_8I", Format::s8},        {"R_32I", Format::s32}};

/// What cuBLASLt logs behind "epilogue=", where it logs any.
struct LogEpilogue {
  std::string_view name;
  bool bias;
  GemmActivation activation;
};
constexpr LogEpilogue kEpilogues[] = {
    {"EPILOGUE_DEFAULT", false, GemmActivation::none}, {"EPILOGUE_BIAS", true, GemmActivation::none},
    {"EPILOGUE_RELU", false, GemmActivation::relu},    {"EPILOGUE_RELU_BIAS", true, GemmActivation::relu},
    {"EPILOGUE_GELU", false, GemmActivation::gelu},    {"EPILOGUE_GELU_BIAS", true, GemmActivation::gelu}};

Format type_in(std::string_view layout) {
  const auto name = value_in(layout, "type");
  for (const LogType& each : kTypes)
    if (name == each.name) return each.format;
  return Format::none;
}

bool is_traced_product(std::string_view line) {
  return line.find("Matmul]") != std::string_view::npos && line.find("[Trace]") != std::string_view::npos;
}

/// Reads a traced product. Returns: why a GemmProblem can't say it, or nothing.
std::string problem_of_log(std::string_view line, GemmProblem& out) {
  const auto of_b = value_in(line, "Adesc"), of_a = value_in(line, "Bdesc"), of_d = value_in(line, "Ddesc");
  const auto how = value_in(line, "computeDesc");
  if (!of_a || !of_b || !of_d || !how)
    return refusal("found a part of a line, allowed: Adesc, Bdesc, Ddesc, computeDesc");
  out.api = line.find("[cublasLtMatmul]") != std::string_view::npos ? GemmApi::cublaslt : GemmApi::cublas;
  for (const std::string_view layout : {*of_b, *of_a, *of_d})
    if (type_in(layout) == Format::none)
      return refusal("type: found {}, allowed: {}", printable(value_in(layout, "type").value_or("none"), 40),
                     names_of(kTypes));
  out.type = type_in(*of_a);
  if (type_in(*of_b) != b_type_of(out))
    return refusal("types of B and A: found {}, allowed: the same, or e5m2 and e4m3",
                   printable(fmt::format("{} and {}", name_of(type_in(*of_a)), name_of(type_in(*of_b))), 40));
  out.d = type_in(*of_d) == Format::tf32 ? Format::f32 : type_in(*of_d);
  if (out.type == Format::tf32) {
    const auto compute = value_in(*how, "computeType");
    if (compute != "COMPUTE_32F_FAST_TF32" && compute != "COMPUTE_32F")
      return refusal("computeType: found {}, allowed: COMPUTE_32F, COMPUTE_32F_FAST_TF32",
                     printable(compute.value_or("none"), 40));
    if (compute == "COMPUTE_32F") out.type = Format::f32;
  }
  const std::string_view epilogue = value_in(*how, "epilogue").value_or(kEpilogues[0].name);
  const LogEpilogue* const known = find_named(kEpilogues, epilogue);
  if (known == nullptr)
    return refusal("epilogue: found {}, allowed: {}", printable(epilogue, 40), names_of(kEpilogues));
  out.bias = known->bias;
  out.activation = known->activation;
  out.transposed_b = value_in(*how, "transa") == "OP_T";
  out.transposed_a = value_in(*how, "transb") == "OP_T";
  out.fast_accum = value_in(*how, "fastAccumulationMode") == "1" || value_in(*how, "fastAccum") == "1";
  const auto size = [](std::string_view layout, const char* name) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(number_in(layout, name).value_or(0), 0));
  };
  out.n = size(*of_d, "rows");
  out.m = size(*of_d, "cols");
  out.k = size(*of_b, out.transposed_b ? "rows" : "cols");
  const auto gap = [&](std::string_view layout) {
    const std::uint64_t ld = size(layout, "ld");
    return ld == size(layout, "rows") ? 0 : ld;
  };
  out.lda = gap(*of_a);
  out.ldb = gap(*of_b);
  out.ldd = gap(*of_d);
  out.batch = std::max<std::uint64_t>(size(*of_d, "batchCount"), 1);
  if (out.batch != 1) {
    const GemmStrides tight = strides_of(out);
    const auto stride = [&](std::string_view layout, std::uint64_t dense) {
      const std::uint64_t found = size(layout, "stridedBatchOffset");
      return found == dense ? kTightStride : found;
    };
    out.stride_a = stride(*of_a, tight.a);
    out.stride_b = stride(*of_b, tight.b);
    out.stride_d = stride(*of_d, tight.d);
  }
  return why_no_problem(out);
}

}  // namespace

std::vector<GemmProblem> read_gemm_problems(std::string_view text, const std::string& file,
                                            std::string* left_out) {
  std::vector<GemmProblem> out;
  std::set<std::string> seen;
  std::size_t unread = 0;
  std::string first_unread;
  bool first = true;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    one.remove_prefix(std::min(one.find_first_not_of(" \t\r"), one.size()));
    if (one.empty()) continue;
    const std::string where = fmt::format("{}: line {}", file, line);
    GemmProblem found;
    if (one.starts_with('[')) {
      // "[time][cublasLt]..." is no JSON.
      if (one.find("][") == std::string_view::npos && (first || is_json(one)))
        refuse("{}: found a list, allowed: one object per line, or a log of CUBLASLT_LOG_LEVEL=5", where);
      first = false;
      if (!is_traced_product(one)) continue;
      if (const std::string why = problem_of_log(one, found); !why.empty()) {
        if (unread++ == 0) first_unread = fmt::format("line {}: {}", line, why);
        continue;
      }
    } else {
      first = false;
      found = gemm_problem_of(parse_bounded(one, where, "a JSON object or a line of cuBLASLt's log"), where);
    }
    if (seen.insert(to_json(found).dump()).second) out.push_back(found);
  }
  const std::string counted = unread == 0 ? ""
                                          : fmt::format("{} product{} of the log left out, first {}", unread,
                                                        unread == 1 ? "" : "s", first_unread);
  if (out.empty())
    throw InputError(fmt::format(
        "{}: {}", file,
        unread == 0 ? refusal("found no product, allowed: JSON lines, or a log of CUBLASLT_LOG_LEVEL=5")
                    : counted + "; no product is left"));
  if (left_out != nullptr) *left_out = unread == 0 ? "" : fmt::format("{}: {}", file, counted);
  return out;
}

}  // namespace mmaudit::corpus
