#include "audit_tensors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "audit_operands.hpp"
#include "command_line.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/datapath_json.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {
namespace {

/// What `--sample auto` stops at.
constexpr std::uint64_t kElements = std::uint64_t{1} << 16, kMultiplyAdds = std::uint64_t{1} << 28;
/// Elements of D whose products, sums and statistics fit 3 GiB.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 26;

/// --dtype-a and --dtype-b.
const report::GemmDtype* pair_of(const TensorAuditOptions& options) {
  if (options.dtype_a.empty() && options.dtype_b.empty()) return nullptr;
  const report::GemmDtype* found = report::find_gemm_dtype(options.dtype_a, options.dtype_b);
  if (found == nullptr)
    throw InputError(
        fmt::format("--dtype-a, --dtype-b: found {} and {}, allowed: twice the same of --dtype, e4m3 and "
                    "e5m2, mxf8 and mxf8-e5m2, either way round",
                    options.dtype_a.empty() ? "none" : options.dtype_a,
                    options.dtype_b.empty() ? "none" : options.dtype_b));
  return found;
}

std::vector<const report::GemmDtype*> dtypes_of(const TensorAuditOptions& options) {
  const report::GemmDtype* pair = pair_of(options);
  std::vector<std::string> names = options.dtypes;
  if (names.empty() && pair == nullptr) names = {"e4m3", "e5m2", "bf16", "f16", "tf32"};
  std::vector<const report::GemmDtype*> out;
  for (const std::string& name : names) {
    out.push_back(report::find_gemm_dtype(name));
    if (out.back() != nullptr) continue;
    std::string allowed;
    for (const report::GemmDtype& row : report::gemm_dtypes())
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", row.name);
    throw InputError(fmt::format("--dtype: found {}, allowed: {}", name, allowed));
  }
  if (pair != nullptr) out.push_back(pair);
  return out;
}

std::vector<report::Scaling> scalings_of(const TensorAuditOptions& options, const report::GemmDtype& dtype) {
  std::vector<report::Scaling> out;
  for (const std::string& name : options.scales) {
    const auto found = report::find_scaling(name);
    if (!found)
      throw InputError(fmt::format("--scale: found {}, allowed: none, tensor, row, 1x128, mx", name));
    out.push_back(*found);
  }
  if (out.empty()) out.push_back(report::usual_scaling(dtype));
  return out;
}

std::vector<report::Accumulation> accumulations_of(const TensorAuditOptions& options) {
  std::vector<std::string> names = options.policies;
  if (names.empty()) names = {"plain", "promote:128"};
  std::vector<report::Accumulation> out;
  for (const std::string& name : names) {
    const auto found = report::find_accumulation(name);
    if (!found)
      throw InputError(fmt::format(
          "--policy: found {}, allowed: plain, promote:P, split-k:S, half (P and S from 1 to 1048576)",
          name));
    out.push_back(*found);
  }
  return out;
}

Format output_of(const TensorAuditOptions& options) {
  if (options.output.empty()) return Format::none;
  for (const Format format : {Format::f32, Format::f16, Format::bf16})
    if (name_of(format) == options.output) return format;
  throw InputError(fmt::format("--d-format: found {}, allowed: f32, f16, bf16", options.output));
}

std::optional<Op> unit_of(const TensorAuditOptions& options) {
  if (options.unit.empty()) return std::nullopt;
  if (options.unit == "mma") return Op::mma;
  if (options.unit == "wgmma") return Op::wgmma;
  if (options.unit == "tcgen05") return Op::tcgen05;
  throw InputError(fmt::format("--unit: found {}, allowed: mma, wgmma, tcgen05", options.unit));
}

std::vector<report::GemmCombination> combinations_of(const TensorAuditOptions& options,
                                                     const Context& context) {
  std::vector<std::string> names = options.architectures;
  if (names.empty()) names = {""};
  const Format output = output_of(options);
  const std::optional<Op> unit = unit_of(options);
  std::vector<report::GemmCombination> out;
  for (const std::string& name : names) {
    const Architecture& architecture = require_architecture(context, name);
    for (const report::GemmDtype* dtype : dtypes_of(options))
      for (const report::Scaling scaling : scalings_of(options, *dtype))
        for (const report::Accumulation& how : accumulations_of(options))
          out.push_back(report::settled({&architecture, *dtype, scaling, how, output, unit}));
  }
  return out;
}

report::SampleSize sample_of(const TensorAuditOptions& options, std::uint64_t m, std::uint64_t n,
                             std::uint64_t k) {
  if (options.sample == "auto") return report::sample_size(m, n, k, kElements, kMultiplyAdds);
  report::SampleSize size{m, n};
  if (options.sample != "all") {
    std::uint64_t count = 0;
    const char* end = options.sample.data() + options.sample.size();
    const auto [at, error] = std::from_chars(options.sample.data(), end, count);
    if (error != std::errc{} || at != end || count == 0)
      throw InputError(
          fmt::format("--sample: found {}, allowed: auto, all, or a number of elements", options.sample));
    size = report::sample_size(m, n, 1, count, UINT64_MAX);
  }
  std::uint64_t elements = 0;
  if (__builtin_mul_overflow(size.rows, size.columns, &elements) || elements > kMostElements)
    throw InputError(fmt::format("--sample: found {} ({} x {} elements of D), allowed: at most {}",
                                 options.sample, size.rows, size.columns, kMostElements));
  return size;
}

void require_match(const FileMatrix& a, const FileMatrix& b, const std::optional<FileMatrix>& c) {
  if (a.columns() != b.rows())
    throw InputError(
        fmt::format("--a and --b: found K = {} of A ({} x {}) and {} of B ({} x {}), allowed: equal{}",
                    a.columns(), a.rows(), a.columns(), b.rows(), b.rows(), b.columns(),
                    a.columns() == b.columns() ? " (--b-transposed exchanges those of B)" : ""));
  if (c && (c->rows() != a.rows() || c->columns() != b.columns()))
    throw InputError(
        fmt::format("--c: found {} x {}, allowed: {} x {}", c->rows(), c->columns(), a.rows(), b.columns()));
}

void write(const report::GemmAudit& audit, const TensorAuditOptions& options) {
  const report::Report report = report::report_of(audit);
  bool printed = false;
  for (const auto& [format, file] : {std::pair{"json", &options.json},
                                     {"markdown", &options.markdown},
                                     {"csv", &options.csv},
                                     {"junit", &options.junit},
                                     {"html", &options.html}}) {
    if (!file->empty()) emit(*file, report::rendered(report, format));
    printed = printed || *file == "-";
  }
  if (!printed) emit("-", report::rendered(report, "text", isatty(STDOUT_FILENO) == 1));
}

/// Sizes and checksums of the files; one that holds two of the tensors is read once.
std::vector<report::InputFacts> inputs_of(const TensorAuditOptions& options, const Context& context) {
  std::vector<report::InputFacts> out;
  std::uint64_t whole = 0;
  for (const auto& [role, tensor] : {std::pair{"A", &options.a}, {"B", &options.b}, {"C", &options.c}}) {
    if (tensor->empty()) continue;
    const std::string file = corpus::file_of(*tensor);
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const report::InputFacts& one) { return one.name == file; });
    if (same != out.end()) {
      same->role += std::string(" and ") + role;
      continue;
    }
    out.push_back({role, file, 0, {}});
    std::error_code ignored;  // facts_of_file() says what is wrong
    if (const std::uintmax_t size = std::filesystem::file_size(file, ignored); !ignored) whole += size;
  }
  Progress progress(context.quiet, "checksums", whole);
  for (report::InputFacts& one : out) {
    const corpus::FileFacts facts =
        corpus::facts_of_file(one.name, [&](std::uint64_t bytes) { progress.advance(bytes); });
    one.bytes = facts.bytes;
    one.checksum = facts.checksum;
  }
  return out;
}

/// What only the program knows; the rows of the model are there already.
void name_origin(report::Provenance& provenance, const TensorAuditOptions& options, const Context& context) {
  provenance.version = kVersion;
  provenance.git_revision = kGitRevision;
  provenance.date = today();
  provenance.backend = "model";
  std::vector<std::string> names;
  for (const report::ModelRow& row : provenance.rows)
    if (std::find(names.begin(), names.end(), row.architecture) == names.end())
      names.push_back(row.architecture);
  provenance.architecture = fmt::format("{}", fmt::join(names, ", "));
  provenance.command = context.command_line;
  provenance.inputs = inputs_of(options, context);
  add_model_file(context, provenance);
}

std::vector<std::uint64_t> everything(std::uint64_t count) { return report::sampled(count, count, 0); }

}  // namespace

void add_model_file(const Context& context, report::Provenance& provenance) {
  if (context.model)
    provenance.inputs.push_back(
        {"model", context.model->file, context.model->bytes, context.model->checksum});
}

int audit_tensors(const TensorAuditOptions& options, const Context& context) {
  if (options.a.empty() || options.b.empty())
    throw InputError(fmt::format("--a, --b: found {}, allowed: both or neither",
                                 options.a.empty() && options.b.empty() ? "an option of theirs without them"
                                 : options.a.empty()                    ? "--b alone"
                                                                        : "--a alone"));
  report::GemmAuditRequest request;
  request.combinations = combinations_of(options, context);
  const FileMatrix a("--a", options.a, "A", false), b("--b", options.b, "B", options.b_transposed);
  std::optional<FileMatrix> c;
  if (!options.c.empty()) c.emplace("--c", options.c, "C", false);
  require_match(a, b, c);
  const std::uint64_t m = a.rows(), n = b.columns(), k = a.columns();
  const report::SampleSize size = sample_of(options, m, n, k);
  const std::vector<std::uint64_t> rows = report::sampled(size.rows, m, 2 * options.seed);
  const std::vector<std::uint64_t> columns = report::sampled(size.columns, n, 2 * options.seed + 1);
  const std::vector<double> a_part = a.part(rows, everything(k)), b_part = b.part(everything(k), columns);
  const std::vector<double> c_part = c ? c->part(rows, columns) : std::vector<double>{};
  request.operands = {rows.size(),       columns.size(),   k, a_part, b_part, c_part,
                      a.facts().largest, b.facts().largest};
  request.whole_m = m;
  request.whole_n = n;
  request.rows = rows, request.columns = columns;
  request.seed = options.seed;
  if (options.limit > 0) request.limit = options.limit;

  report::GemmAudit audit;
  {
    Progress progress(context.quiet, "audit", report::audit_work(request));
    audit = report::audit_gemm(
        request, {options.threads, [&progress](std::uint64_t done) { progress.advance(done); }});
  }
  if (audit.rows_of.empty())
    throw InputError(
        fmt::format("--dtype, --scale, --policy: found nothing that can be computed ({}), allowed: "
                    "combinations that the architecture has (docs/audit.md)",
                    audit.left_out.empty() ? "no combination" : audit.left_out.front()));
  name_origin(audit.provenance, options, context);
  audit.tensors = {a.facts(), b.facts()};
  if (c) audit.tensors.push_back(c->facts());
  write(audit, options);
  return !request.limit || audit.passes() ? kAllGood : kMismatch;
}

void add_tensor_options(Command& command, TensorAuditOptions& options) {
  const auto add = [&](const char* name, auto& value, const char* text) {
    return command.option(name, value, text).group(kTensorGroup);
  };
  add("--a", options.a, "A (M, K): .npy or .safetensors[:tensor]; F64, F32, BF16, F16 or FP8");
  add("--b", options.b, "B (K, N)");
  add("--c", options.c, "C (M, N), added in the epilogue");
  command.flag("--b-transposed", options.b_transposed, "the file of B is (N, K)").group(kTensorGroup);
  add("--dtype", options.dtypes, "of e4m3, e5m2, bf16, f16, tf32, tf32-raw, mxf8, mxf8-e5m2, mxf4, nvf4")
      .comma_separated();
  add("--dtype-a", options.dtype_a,
      "of A, with --dtype-b, where the two differ: e4m3 and e5m2, mxf8 and mxf8-e5m2");
  add("--dtype-b", options.dtype_b, "of B");
  add("--scale", options.scales, "of none, tensor, row, 1x128, mx; default: what is usual for the dtype")
      .comma_separated();
  add("--policy", options.policies, "of plain, promote:P, split-k:S, half; default: plain and promote:128")
      .comma_separated();
  add("--d-format", options.output, "f32, f16 or bf16; default: what is usual for the dtype");
  add("--unit", options.unit, "mma, wgmma or tcgen05; default: the newest that the architecture has");
  add("--max-rel-fro", options.limit, "largest relative Frobenius error that passes").positive();
  add("--sample", options.sample, "elements of D: auto (65536 at most), all, or a number");
  add("--html", options.html, "write one self-contained page; - prints it");
  add("--md", options.markdown, "write Markdown; - prints it");
  add("--csv", options.csv, "write CSV");
  add("--junit", options.junit, "write JUnit XML");
  add("--threads", options.threads, "threads; 0: one per core; the result does not depend on it")
      .range(0, 4096);
}

}  // namespace mmaudit::cli
