#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "audit_tables.hpp"
#include "error_places.hpp"
#include "mmaudit/fast.hpp"
#include "mmaudit/splitmix64.hpp"
#include "stages.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

/// Plain-core rows do so much less.
constexpr std::uint64_t kSlowWork = std::uint64_t{1} << 25;

bool same_conversion(const GemmCombination& x, const GemmCombination& y) {
  return x.dtype.name == y.dtype.name && x.scaling == y.scaling;
}

bool is_fast(const GemmPath& path) { return fast_serves(path.instruction, path.entry->datapath); }

/// One line per reason.
std::vector<std::string> lines_of(const std::vector<GemmAbsent>& absent) {
  std::vector<std::string> lines, reasons;
  for (const GemmAbsent& first : absent) {
    if (std::find(reasons.begin(), reasons.end(), first.why) != reasons.end()) continue;
    reasons.push_back(first.why);
    std::vector<std::string> dtypes, scalings, accumulations;
    const auto put = [](std::vector<std::string>& list, const std::string& one) {
      if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
    };
    for (const GemmAbsent& one : absent) {
      if (one.why != first.why) continue;
      put(dtypes, one.dtype);
      put(scalings, one.scaling);
      put(accumulations, one.accumulation);
    }
    lines.push_back(fmt::format("{} with scale {} and policy {}: {}", fmt::join(dtypes, ", "),
                                fmt::join(scalings, ", "), fmt::join(accumulations, ", "), first.why));
  }
  return lines;
}

/// The combinations that can be computed; combinations with the same conversion follow each other.
std::vector<PathedCombination> computable(const GemmAuditRequest& request,
                                          std::vector<GemmAbsent>* absent = nullptr) {
  std::vector<PathedCombination> out;
  std::set<std::string> seen;
  for (const GemmCombination& c : request.combinations) {
    const std::string key = fmt::format("{} {} {} {}", c.architecture->name, c.dtype.name, c.scaling.name,
                                        name_of(c.accumulation));
    if (!seen.insert(key).second) continue;  // "mxf8" and "e4m3" with "mx" are one
    PathedCombination one{c, find_path(c)};
    if (!one.path.why_not.empty()) {
      if (absent != nullptr)
        absent->push_back({std::string(c.architecture->name), std::string(c.dtype.name),
                           std::string(c.scaling.name), name_of(c.accumulation), one.path.why_not,
                           one.path.lacks_dtype});
      continue;
    }
    auto at = out.end();
    for (auto each = out.begin(); each != out.end(); ++each)
      if (same_conversion(each->combination, c)) at = each + 1;
    out.insert(at, one);
  }
  return out;
}

/// The first rows and columns of the sample.
struct Part {
  GemmOperands operands;
  std::vector<double> b, c, exact;
};

Part first_part(const GemmOperands& whole, const SampleSize& size) {
  Part part;
  part.operands = whole;
  part.operands.m = size.rows, part.operands.n = size.columns;
  part.operands.a = whole.a.first(size.rows * whole.k);
  const auto columns_of = [&](std::span<const double> x, std::uint64_t rows, std::vector<double>& out) {
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < size.columns; ++j) out.push_back(x[i * whole.n + j]);
  };
  columns_of(whole.b, whole.k, part.b);
  if (!whole.c.empty()) columns_of(whole.c, size.rows, part.c);
  part.operands.b = part.b, part.operands.c = part.c;
  return part;
}

SampleSize slow_size(const GemmOperands& x) { return sample_size(x.m, x.n, x.k, x.m * x.n, kSlowWork); }

/// Every row of the model is named once.
void name_row(Origin& provenance, const GemmCombination& c, const GemmPath& path) {
  ModelRow row = model_row(*c.architecture, path.instruction, *path.entry);
  const auto same = [&](const ModelRow& there) {
    return there.architecture == row.architecture && there.instruction == row.instruction;
  };
  if (std::none_of(provenance.rows.begin(), provenance.rows.end(), same))
    provenance.rows.push_back(std::move(row));
}

/// The total of BF16: of a row, else computed here.
std::optional<double> reference_of(const GemmAudit& audit, const GemmAuditRequest& request,
                                   const std::vector<double>& exact, const MatmulOptions& how) {
  const GemmDtype& bf16 = *find_gemm_dtype("bf16");
  for (const GemmAuditRow& row : audit.rows_of)
    if (row.dtype == bf16.name && row.errors.compared != 0)
      return has_figures(row.errors) ? std::optional(row.errors.total) : std::nullopt;
  for (const GemmCombination& each : request.combinations) {
    const GemmCombination c = settled({each.architecture, bf16, scalings::none, {}, Format::none, {}});
    const GemmPath path = find_path(c);
    if (!path.why_not.empty()) continue;
    const MatmulOptions quiet = {.threads = how.threads, .level = how.level, .progress = {}};
    const ConvertedOperands converted = convert_alone(c.dtype, c.scaling, request.operands, quiet);
    const double total =
        total_error(exact, compute_elements(c, path, converted, request.operands.c, quiet).result);
    if (std::isfinite(total)) return total;
    return std::nullopt;
  }
  return std::nullopt;
}

/// Rows and columns of the sample by their numbers in the whole D.
void name_places(GemmErrors& errors, std::span<const std::uint64_t> rows,
                 std::span<const std::uint64_t> columns) {
  if (!rows.empty()) {
    for (RowError& each : errors.rows) each.row = rows[each.row];
    for (std::uint64_t& each : errors.lost_rows) each = rows[each];
    errors.worst_row = rows[errors.worst_row];
  }
  if (columns.empty()) return;
  for (std::uint64_t& each : errors.lost_columns) each = columns[each];
  errors.column.row = columns[errors.column.row];
  errors.worst_column = columns[errors.worst_column];
}

GemmAuditRow row_of(const PathedCombination& one, const ConvertedOperands& converted) {
  const GemmCombination& c = one.combination;
  GemmAuditRow row;
  static_cast<GemmSubject&>(row) = subject_of(c, one.path);
  row.architecture = std::string(c.architecture->name);
  row.cast_a = converted.a.counts;
  row.cast_b = converted.b.counts;
  return row;
}

}  // namespace

int GemmAudit::count(GemmVerdict verdict) const {
  return static_cast<int>(std::count_if(rows_of.begin(), rows_of.end(),
                                        [&](const GemmAuditRow& row) { return row.verdict == verdict; }));
}

bool GemmAudit::passes() const {
  return judges() && missing.empty() && !rows_of.empty() &&
         count(GemmVerdict::pass) == static_cast<int>(rows_of.size());
}

std::vector<std::uint64_t> sampled(std::uint64_t count, std::uint64_t from, std::uint64_t seed) {
  std::vector<std::uint64_t> out(std::min(count, from));
  for (std::uint64_t i = 0; i < out.size(); ++i) out[i] = i;
  if (count >= from) return out;
  // The first steps of a shuffle of 0 ... from - 1, of which only what moved is held.
  std::unordered_map<std::uint64_t, std::uint64_t> moved;
  const auto at = [&](std::uint64_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  const PlacedDraws draws(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t other = i + draws.below(from - i, i);
    out[i] = at(other);
    moved[other] = at(i);
  }
  std::sort(out.begin(), out.end());
  return out;
}

SampleSize sample_size(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t elements,
                       std::uint64_t multiply_adds) {
  const std::uint64_t most =
      std::max<std::uint64_t>(1, std::min(elements, multiply_adds / std::max<std::uint64_t>(k, 1)));
  const auto side =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(static_cast<double>(most))));
  SampleSize size{std::min(m, side), std::min(n, side)};
  if (size.rows < side && size.rows != 0) size.columns = std::min(n, most / size.rows);
  if (size.columns < side && size.columns != 0) size.rows = std::min(m, most / size.columns);
  return size;
}

std::uint64_t audit_work(const GemmAuditRequest& request) {
  const GemmOperands& x = request.operands;
  const SampleSize slow = slow_size(x);
  const std::uint64_t whole = x.m * x.n * x.k;
  std::uint64_t work = whole;  // the exact product
  const GemmCombination* last = nullptr;
  const std::vector<PathedCombination> all = computable(request);
  for (const PathedCombination& one : all) {
    const std::uint64_t each = is_fast(one.path) ? whole : slow.rows * slow.columns * x.k;
    work += each;
    if (last == nullptr || !same_conversion(*last, one.combination)) work += each;
    last = &one.combination;
  }
  return work;
}

GemmAudit audit_gemm(const GemmAuditRequest& request, const MatmulOptions& how) {
  GemmAudit audit;
  const GemmOperands& x = request.operands;
  audit.m = request.whole_m, audit.n = request.whole_n, audit.k = x.k;
  audit.rows = x.m, audit.columns = x.n;
  audit.seed = request.seed;
  audit.limit = request.limit;
  audit.row_limit = request.row_limit;
  audit.tolerances = request.tolerances;
  audit.tensors = request.tensors;
  const std::vector<PathedCombination> all = computable(request, &audit.absent);
  audit.left_out = lines_of(audit.absent);
  const std::vector<double> exact = exact_product(x, how);
  std::optional<Part> part;
  ConvertedOperands converted;
  ChannelStudy channels;
  const GemmCombination* last = nullptr;
  for (const PathedCombination& one : all) {
    const GemmCombination& c = one.combination;
    const bool fast = is_fast(one.path) || c.scaling.b.lanes > 1;  // tiles of the whole B
    if (!fast && !part) {
      part = first_part(x, slow_size(x));
      part->exact = exact_product(part->operands);
    }
    const GemmOperands& operands = fast ? x : part->operands;
    const std::vector<double>& reference = fast ? exact : part->exact;
    if (last == nullptr || !same_conversion(*last, c) || converted.m != operands.m ||
        converted.n != operands.n) {
      converted = convert_operands(c.dtype, c.scaling, operands, how);
      channels = channels_of(operands, converted, reference, how);
    }
    last = &c;
    const GemmElements elements = compute_elements(c, one.path, converted, operands.c, how);
    GemmAuditRow row = row_of(one, converted);
    name_row(audit.provenance, c, one.path);
    row.errors = errors_of(reference, converted, elements, c.output, how.threads);
    row.worst = worst_element(row.errors, c, one.path, converted, operands, reference, elements);
    if (request.tolerances)
      row.test = tolerance_test(reference, elements.result, request.rows, request.columns, operands.n,
                                *request.tolerances);
    row.channels = channels;
    row.map = error_map(reference, elements.result, operands.n, request.rows, request.columns);
    name_places(row.errors, request.rows, request.columns);
    if (row.worst) row.worst->row = row.errors.worst_row, row.worst->column = row.errors.worst_column;
    const bool all_rows = operands.m == request.whole_m, all_columns = operands.n == request.whole_n;
    if (!all_rows || !all_columns)
      row.errors.interval =
          total_interval(reference, elements, operands.n, all_rows, all_columns, request.seed);
    audit.rows_of.push_back(std::move(row));
  }
  audit.reference = reference_of(audit, request, exact, how);
  judge(audit);
  return audit;
}

}  // namespace mmaudit::report
