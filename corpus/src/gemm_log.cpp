// Problems from outside: JSON lines, or what cuBLASLt logs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/library_log.hpp"

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

Format type_in(std::string_view layout) {
  const auto name = value_in(layout, "type");
  for (const LogType& each : kTypes)
    if (name == each.name) return each.format;
  return Format::none;
}

/// One traced product; nullopt where it is none, or one that a GemmProblem can't say.
std::optional<GemmProblem> problem_of_log(std::string_view line) {
  if (line.find("Matmul]") == std::string_view::npos || line.find("[Trace]") == std::string_view::npos)
    return std::nullopt;
  const auto of_b = value_in(line, "Adesc"), of_a = value_in(line, "Bdesc"), of_d = value_in(line, "Ddesc");
  const auto how = value_in(line, "computeDesc");
  if (!of_a || !of_b || !of_d || !how) return std::nullopt;
  GemmProblem out;
  out.api = line.find("[cublasLtMatmul]") != std::string_view::npos ? GemmApi::cublaslt : GemmApi::cublas;
  out.type = type_in(*of_a);
  out.d = type_in(*of_d) == Format::tf32 ? Format::f32 : type_in(*of_d);
  if (out.type == Format::tf32) {
    const auto compute = value_in(*how, "computeType");
    if (compute != "COMPUTE_32F_FAST_TF32" && compute != "COMPUTE_32F") return std::nullopt;
    if (compute == "COMPUTE_32F") out.type = Format::f32;
  }
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
  return why_no_problem(out).empty() ? std::optional(out) : std::nullopt;
}

}  // namespace

std::vector<GemmProblem> read_gemm_problems(std::string_view text, const std::string& file) {
  std::vector<GemmProblem> out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::optional<GemmProblem> found;
    if (one.starts_with('[')) {
      found = problem_of_log(one);
    } else {
      const std::string where = fmt::format("{}: line {}", file, line);
      found = gemm_problem_of(parse_bounded(one, where, "a JSON object or a line of cuBLASLt's log"), where);
    }
    if (found && std::find(out.begin(), out.end(), *found) == out.end()) out.push_back(*found);
  }
  if (out.empty())
    throw InputError(file + ": found no product, allowed: JSON lines, or a log of CUBLASLT_LOG_LEVEL=5");
  return out;
}

}  // namespace mmaudit::corpus
