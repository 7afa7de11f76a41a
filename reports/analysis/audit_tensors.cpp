#include "mmaudit/report/gemm_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "file_matrix.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::report {
namespace {

/// What `--sample auto` stops at.
constexpr std::uint64_t kElements = std::uint64_t{1} << 16, kMultiplyAdds = std::uint64_t{1} << 28;
/// Elements of D whose products, sums and statistics fit 3 GiB.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 26;
/// More than every GPU with every type, scaling and policy.
constexpr std::uint64_t kMostCombinations = std::uint64_t{1} << 14;

/// " (fp8 is e4m3 or e5m2)"; empty for what has no usual meaning.
std::string hint_of(std::string_view name) {
  const std::string_view meaning = name == "fp4" ? "mxf4 or nvf4" : meaning_of(name);
  return meaning.empty() ? "" : fmt::format(" ({} is {})", name, meaning);
}

/// Says what was found, the name that it may mean, and what is allowed.
[[noreturn]] void refuse_name(std::string_view option, const std::string& name,
                              const std::vector<std::string>& allowed, std::string_view more = {}) {
  refuse("{}: found {}{}, allowed: {}{}{}", option, name, did_you_mean(name, allowed),
         allowed_near(name, allowed, "mmaudit audit --help"), more, hint_of(name));
}

/// What `find` gives for every name; InputError names the option and what it allows.
template <class Find>
auto chosen(std::string_view option, const std::vector<std::string>& names,
            const std::vector<std::string>& allowed, std::string_view more, const Find& find) {
  std::vector<std::decay_t<decltype(*find(names.front()))>> out;
  for (const std::string& name : names) {
    const auto found = find(name);
    if (!found) refuse_name(option, name, allowed, more);
    out.push_back(*found);
  }
  return out;
}

/// The value of this name; none where no name is given.
template <class Value>
std::optional<Value> chosen_one(std::string_view option, const std::string& name,
                                const std::vector<std::pair<std::string_view, Value>>& values) {
  if (name.empty()) return std::nullopt;
  std::vector<std::string> allowed;
  for (const auto& [each, value] : values) {
    if (each == name) return value;
    allowed.emplace_back(each);
  }
  refuse_name(option, name, allowed);
}

bool computes(const Architecture& architecture, const GemmDtype& dtype) {
  return find_path(settled({&architecture, dtype, *dtype.usual, {}, Format::none, {}})).entry != nullptr;
}

/// Some architecture of the request has an instruction for it.
bool can_be_computed(const TensorAuditRequest& request, const GemmDtype& dtype) {
  return std::any_of(request.architectures.begin(), request.architectures.end(),
                     [&](const Architecture* one) { return computes(*one, dtype); });
}

/// The name of a GPU of this architecture, as people say it: "b200", not "sm_100".
std::string_view gpu_of(const Architecture& architecture) {
  for (const std::string_view alias : architecture.aliases)
    if (!alias.starts_with("sm_") && !alias.starts_with("ga1")) return alias;
  return architecture.name;
}

/// "; nvf4 with --arch b200, gb10": the types that the architectures of the request lack and others have.
std::string had_elsewhere(const TensorAuditRequest& request,
                          const std::vector<GemmCombination>& combinations) {
  std::string text;
  std::vector<std::string_view> seen;
  for (const GemmCombination& one : combinations) {
    if (can_be_computed(request, one.dtype) ||
        std::find(seen.begin(), seen.end(), one.dtype.name) != seen.end())
      continue;
    seen.push_back(one.dtype.name);
    std::vector<std::string_view> gpus;
    for (const Architecture& other : architectures())
      if (computes(other, one.dtype)) gpus.push_back(gpu_of(other));
    if (!gpus.empty()) text += fmt::format("; {} with --arch {}", one.dtype.name, fmt::join(gpus, ", "));
  }
  return text;
}

bool names_no_dtype(const TensorAuditRequest& request) {
  return request.dtypes.empty() && request.dtype_a.empty() && request.dtype_b.empty();
}

std::vector<std::string> usual_dtypes(const TensorAuditRequest& request) {
  std::vector<std::string> names = {"e4m3", "e5m2", "bf16", "f16", "tf32"};
  for (const char* const other : {"e4m3fnuz", "e5m2fnuz", "mxf8", "mxf6", "mxf4", "nvf4"})
    if (can_be_computed(request, *find_gemm_dtype(other))) names.emplace_back(other);
  return names;
}

std::vector<GemmDtype> dtypes_of(const TensorAuditRequest& request) {
  const bool pair = !request.dtype_a.empty() || !request.dtype_b.empty();
  const std::vector<std::string> names = names_no_dtype(request) ? usual_dtypes(request) : request.dtypes;
  std::vector<GemmDtype> out = chosen("--dtype", names, names_of(gemm_dtypes()), "",
                                      [](const std::string& name) { return find_gemm_dtype(name); });
  if (!pair) return out;
  const GemmDtype* found = find_gemm_dtype(request.dtype_a, request.dtype_b);
  if (found == nullptr)
    refuse(
        "--dtype-a, --dtype-b: found {} and {}, allowed: twice the same of --dtype, e4m3 and e5m2, e4m3fnuz "
        "and e5m2fnuz, mxf8 and mxf8-e5m2, either way round",
        request.dtype_a.empty() ? "none" : request.dtype_a,
        request.dtype_b.empty() ? "none" : request.dtype_b);
  out.push_back(*found);
  return out;
}

std::vector<GemmCombination> combinations_of(const TensorAuditRequest& request) {
  const std::vector<std::string> policies =
      request.policies.empty() ? std::vector<std::string>{"plain", "promote:128"} : request.policies;
  const std::vector<GemmDtype> dtypes = dtypes_of(request);
  std::vector<Scaling> scalings;
  for (const std::string& name : request.scales) {
    const std::vector<Scaling> found = find_scalings(name);
    if (found.empty()) refuse_name("--scale", name, scaling_names(), " (mx is both of the last)");
    scalings.insert(scalings.end(), found.begin(), found.end());
  }
  const std::vector<Accumulation> accumulations =
      chosen("--policy", policies, {"plain", "promote:P", "split-k:S", "half"},
             " (P and S from 1 to 1048576)", find_accumulation);
  std::vector<std::pair<std::string_view, Format>> outputs;
  for (const Format one : kEpilogueOutputs) outputs.emplace_back(name_of(one), one);
  const Format output = chosen_one("--d-format", request.output, outputs).value_or(Format::none);
  const std::optional<Op> unit =
      chosen_one<Op>("--unit", request.unit,
                     {{"mma", Op::mma}, {"wgmma", Op::wgmma}, {"tcgen05", Op::tcgen05}, {"mfma", Op::mfma}});
  std::uint64_t count = 0;
  for (const GemmDtype& dtype : dtypes) count += (scalings.empty() ? usual_scalings(dtype) : scalings).size();
  count *= request.architectures.size() * accumulations.size();
  if (count > kMostCombinations)
    refuse("--arch, --dtype, --scale, --policy: found {} combinations, allowed: at most {}", count,
           kMostCombinations);
  std::vector<GemmCombination> out;
  for (const Architecture* architecture : request.architectures)
    for (const GemmDtype& dtype : dtypes)
      for (const Scaling& scaling : scalings.empty() ? usual_scalings(dtype) : scalings)
        for (const Accumulation& how : accumulations)
          out.push_back(settled({architecture, dtype, scaling, how, output, unit}));
  return out;
}

/// GemmAudit::missing.
std::vector<std::string> missing_of(TensorAuditRequest request) {
  if (!request.dtype_a.empty())
    request.dtypes.emplace_back(find_gemm_dtype(request.dtype_a, request.dtype_b)->name);
  request.dtype_a = request.dtype_b = "";
  std::vector<std::string> out;
  for (const Architecture* architecture : request.architectures)
    for (const auto list :
         {&TensorAuditRequest::dtypes, &TensorAuditRequest::scales, &TensorAuditRequest::policies})
      for (const std::string& name : request.*list) {
        TensorAuditRequest one = request;
        one.architectures = {architecture};
        one.*list = {name};
        const std::vector<GemmCombination> all = combinations_of(one);
        if (std::none_of(all.begin(), all.end(),
                         [](const GemmCombination& each) { return find_path(each).why_not.empty(); }))
          out.push_back(fmt::format("{} has no combination with {}", architecture->name, name));
      }
  return out;
}

/// "--dtype tf32-raw; --scale row, 1x128 and 128x128": what the request did not name and the default leaves
/// out.
std::string untried_by(const TensorAuditRequest& request, const std::vector<GemmCombination>& tried) {
  std::vector<std::string> parts, dtypes, scales;
  const auto is_tried = [&](const auto& same) { return std::any_of(tried.begin(), tried.end(), same); };
  for (const GemmDtype& dtype : gemm_dtypes())
    if (names_no_dtype(request) && (!dtype.of_recipe || dtype.integer()) && can_be_computed(request, dtype) &&
        !is_tried([&](const GemmCombination& one) { return one.dtype.name == dtype.name; }))
      dtypes.emplace_back(dtype.name);
  if (!dtypes.empty()) parts.push_back(fmt::format("--dtype {}", fmt::join(dtypes, ",")));
  if (request.scales.empty() && is_tried([](const GemmCombination& one) { return one.dtype.scalable; }))
    for (const Scaling& scaling : software_scalings())
      if (!is_tried([&](const GemmCombination& one) { return one.scaling == scaling; }))
        scales.emplace_back(scaling.name);
  if (!scales.empty()) parts.push_back(fmt::format("--scale {}", fmt::join(scales, ",")));
  return parts.empty() ? "" : fmt::format("Not tried: {}.", fmt::join(parts, "; "));
}

SampleSize sample_of(const TensorAuditRequest& request, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  if (request.sample == "auto") return sample_size(m, n, k, kElements, kMultiplyAdds);
  SampleSize size{m, n};
  if (request.sample != "all") {
    const std::uint64_t count = whole_number<std::uint64_t>(request.sample).value_or(0);
    if (count == 0) refuse("--sample: found {}, allowed: auto, all, or a number of elements", request.sample);
    size = sample_size(m, n, 1, count, UINT64_MAX);
  }
  std::uint64_t elements = 0;
  if (__builtin_mul_overflow(size.rows, size.columns, &elements) || elements > kMostElements)
    refuse("--sample: found {} ({} x {} elements of D), allowed: at most {}", request.sample, size.rows,
           size.columns, kMostElements);
  return size;
}

void require_match(const std::string& product, const FileMatrix& a, const FileMatrix& b,
                   const std::optional<FileMatrix>& c) {
  if (a.columns() != b.rows())
    refuse("{}: found K = {} of A ({} x {}) and {} of B ({} x {}), allowed: equal{}",
           product.empty() ? "--a and --b" : product, a.columns(), a.rows(), a.columns(), b.rows(), b.rows(),
           b.columns(),
           product.empty() && a.columns() == b.columns() ? " (--b-transposed exchanges rows and columns of B)"
                                                         : "");
  if (c && (c->rows() != a.rows() || c->columns() != b.columns()))
    refuse("--c: found {} x {}, allowed: {} x {}", c->rows(), c->columns(), a.rows(), b.columns());
}

/// The state of each of the request's files on the disk.
std::vector<corpus::FileStamp> stamps_of(const TensorAuditRequest& request) {
  std::vector<corpus::FileStamp> out;
  for (const std::string* tensor : {&request.a, &request.b, &request.c})
    out.push_back(corpus::stamp_of_file(corpus::file_of(*tensor)));
  return out;
}

/// Sizes and checksums of the files; one that holds two of the tensors is read once.
std::vector<InputFacts> inputs_of(const TensorAuditRequest& request, const TensorAuditProgress& progress) {
  std::vector<InputFacts> out;
  std::uint64_t whole = 0;
  for (const auto& [role, tensor] : {std::pair{"A", &request.a}, {"B", &request.b}, {"C", &request.c}}) {
    if (tensor->empty()) continue;
    const std::string file = corpus::file_of(*tensor);
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const InputFacts& one) { return one.name == file; });
    if (same != out.end()) {
      same->role += std::string(" and ") + role;
      continue;
    }
    out.push_back({role, file, 0, {}});
    std::error_code ignored;  // facts_of_file() says what is wrong
    if (const std::uintmax_t size = std::filesystem::file_size(file, ignored); !ignored) whole += size;
  }
  progress.begin("checksums", whole);
  for (InputFacts& one : out) {
    const corpus::FileFacts facts = corpus::facts_of_file(one.name, progress.advance);
    one.bytes = facts.bytes;
    one.checksum = facts.checksum;
  }
  return out;
}

std::vector<std::uint64_t> everything(std::uint64_t count) { return sampled(count, count, 0); }

}  // namespace

GemmAudit audit_tensors(const TensorAuditRequest& request, const TensorAuditProgress& progress) {
  if (request.a.empty() || request.b.empty())
    refuse("--a, --b: found {}, allowed: both or neither", request.a.empty() && request.b.empty()
                                                               ? "an option of theirs without them"
                                                           : request.a.empty() ? "--b alone"
                                                                               : "--a alone");
  GemmAuditRequest whole;
  whole.combinations = combinations_of(request);
  const std::vector<corpus::FileStamp> before = stamps_of(request);
  const FileMatrix a("--a", request.a, "A", false),
      b("--b", request.b, "B", request.b_transposed.value_or(false));
  std::optional<FileMatrix> c;
  if (!request.c.empty()) c.emplace("--c", request.c, "C", false);
  std::vector<InputFacts> inputs = request.inputs.empty() ? inputs_of(request, progress) : request.inputs;
  if (stamps_of(request) != before)
    refuse("--a, --b, --c: found a file that changed while it was read, allowed: files at rest");
  require_known_side(request, b);
  require_match(request.product, a, b, c);
  const std::uint64_t m = a.rows(), n = b.columns(), k = a.columns();
  SampleSize size = m == 0 || n == 0 ? SampleSize{} : sample_of(request, m, n, k);
  const bool tiles = std::any_of(whole.combinations.begin(), whole.combinations.end(),
                                 [](const GemmCombination& one) { return one.scaling.b.lanes > 1; });
  // A factor of 128 x 128 needs its 128 columns: all columns, and fewer rows.
  if (tiles && size.columns < n) size = {std::max<std::uint64_t>(1, size.rows * size.columns / n), n};
  const std::vector<std::uint64_t> rows = sampled(size.rows, m, 2 * request.seed);
  const std::vector<std::uint64_t> columns = sampled(size.columns, n, 2 * request.seed + 1);
  const std::vector<std::uint64_t> depth = everything(rows.empty() || columns.empty() ? 0 : k);
  const std::vector<double> a_part = a.part(rows, depth), b_part = b.part(depth, columns);
  const std::vector<double> c_part = c ? c->part(rows, columns) : std::vector<double>{};
  whole.operands = {rows.size(),
                    columns.size(),
                    k,
                    a_part,
                    b_part,
                    c_part,
                    request.largest_a != 0 ? request.largest_a : a.facts().largest,
                    request.largest_b != 0 ? request.largest_b : b.facts().largest};
  whole.whole_m = m;
  whole.whole_n = n;
  whole.rows = rows, whole.columns = columns;
  whole.seed = request.seed;
  whole.tensors = {a.facts(), b.facts()};
  if (c) whole.tensors.push_back(c->facts());
  if (request.limit > 0) whole.limit = request.limit;
  if (request.row_limit > 0) whole.row_limit = request.row_limit;
  whole.tolerances = request.tolerances;

  progress.begin("audit", audit_work(whole));
  GemmAudit audit =
      audit_gemm(whole, {.threads = request.threads, .level = {}, .progress = progress.advance});
  if (audit.rows_of.empty())
    refuse(
        "--dtype, --scale, --policy: found nothing that can be computed ({}), allowed: combinations that the "
        "architecture has (docs/audit.md){}",
        audit.left_out.empty() ? "no combination" : audit.left_out.front(),
        had_elsewhere(request, whole.combinations));
  if (!request.allow_missing) audit.missing = missing_of(request);
  audit.untried = untried_by(request, whole.combinations);
  Origin& provenance = audit.provenance;
  provenance.backend = "model";
  for (const ModelRow& row : provenance.rows)
    if (std::string& names = provenance.architecture;
        fmt::format(", {}, ", names).find(fmt::format(", {}, ", row.architecture)) == std::string::npos)
      names += (names.empty() ? "" : ", ") + row.architecture;
  provenance.inputs = std::move(inputs);
  if (request.b_transposed && b.rows() == b.columns())
    audit.remarks.push_back(fmt::format("B is square. Its file is taken as {}, as --{}b-transposed says.",
                                        *request.b_transposed ? "(N, K)" : "(K, N)",
                                        *request.b_transposed ? "" : "no-"));
  return audit;
}

}  // namespace mmaudit::report
