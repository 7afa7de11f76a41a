// An audit of slices as a report.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "mmaudit/json.hpp"
#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/report/slices_audit.hpp"
#include "printed.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

std::string wanted(const SliceAudit& audit) {
  if (!audit.limited()) return fmt::format("no error above a chain of fma in {}", name_of(audit.number));
  std::string out;
  if (audit.limit > 0) out = fmt::format("norm {:.3g}", audit.limit);
  if (audit.element_limit > 0)
    out += fmt::format("{}element {:.3g}", out.empty() ? "" : ", ", audit.element_limit);
  return out;
}

Table schemes_of(const SliceAudit& audit) {
  Table table{.title = "Errors",
              .columns = {"scheme",
                          "instruction",
                          {"products", true},
                          {"norm", true},
                          {"element", true},
                          {"lost", true},
                          "verdict"}};
  const auto add = [&](const std::string& name, const std::string& instruction, const std::string& products,
                       const SliceErrors& errors, const Cell& verdict) {
    table.rows.push_back({name, instruction, products, error_text(errors.norm), error_text(errors.element),
                          std::to_string(errors.lost), verdict});
  };
  for (std::size_t i = 0; i < audit.rows.size(); ++i) {
    const SliceRow& row = audit.rows[i];
    const bool used = audit.use == i;
    add(row.name, row.instruction, std::to_string(row.products), row.errors,
        used ? Cell("use", Tone::good) : Cell(row.falls_back ? "binary64 itself" : ""));
  }
  add(fmt::format("{} itself", name_of(audit.number)), "a chain of fma", "1", audit.native, "");
  return table;
}

/// Published peaks over the number of products: what conversions and sums take comes on top.
Table speeds_of(const SliceAudit& audit) {
  Table table{
      .title = "Most multiply-adds per clock and SM",
      .remark = "Peak of the tensor cores over the number of products; splitting and adding cost more.",
      .columns = {"architecture", "f64 of tensor cores"}};
  const bool wide = audit.number == Format::f64;
  if (!wide) table.columns.pop_back();
  if (wide)
    table.remark += " blackwell is sm_100 (B200): the B300 (sm_103) lacks kind::i8. -: not known here.";
  std::vector<const SliceRow*> shown;
  for (std::size_t i = 0; i < audit.rows.size(); ++i)
    if (!audit.rows[i].falls_back && (!wide || audit.use == i)) shown.push_back(&audit.rows[i]);
  for (auto row = audit.rows.rbegin(); shown.empty() && row != audit.rows.rend(); ++row)
    if (!row->falls_back) shown.push_back(&*row);
  for (const SliceRow* row : shown) table.columns.emplace_back(row->name, true);
  for (const TensorCores& cores : kTensorCores) {
    const Architecture* const architecture = find_architecture(cores.architecture);
    std::vector<Cell> line = {cores.architecture};
    const auto peak = [&](CoreType type, int products) {
      const int most = core_ceiling(architecture->compute_capability, type);
      return most == 0 ? std::string("-") : fmt::format("{:.4g}", static_cast<double>(most) / products);
    };
    if (wide) line.emplace_back(peak(CoreType::f64, 1));
    bool any = false;
    for (const SliceRow* row : shown) {
      const SlicePath path = slice_path(*row->slicing.scheme, *architecture);
      line.emplace_back(path.why_not.empty() ? peak(*core_type_of(path.instruction), row->products) : "-");
      any = any || line.back().text != "-";
    }
    if (any) table.rows.push_back(std::move(line));
  }
  return table;
}

/// Of binary64 over the number of slices, two curves per scheme; of binary32 over the schemes.
Figure curve_of(const SliceAudit& audit) {
  Curves plot{
      .id = "slices", .title = "Error against slices", .x_title = "slices", .labels = {}, .curves = {}};
  constexpr Format kColours[] = {Format::s8, Format::bf16, Format::tf32};
  std::string scheme;
  for (const SliceRow& row : audit.rows) {
    const bool counted = row.slicing.scheme->integer();
    if (plot.curves.empty() || (counted && scheme != row.slicing.scheme->name)) {
      scheme = row.slicing.scheme->name;
      const Format colour = kColours[plot.curves.size() / 2 % std::size(kColours)];
      plot.curves.push_back({counted ? scheme + ", norm" : "norm", colour, false, {}});
      plot.curves.push_back({counted ? scheme + ", element" : "element", colour, true, {}});
    }
    Curves::Curve& norm = plot.curves.end()[-2];
    norm.values.emplace_back(row.errors.norm);
    plot.curves.back().values.emplace_back(row.errors.element);
    if (norm.values.size() > plot.labels.size())
      plot.labels.push_back(counted ? std::to_string(row.slicing.parts) : row.name);
  }
  if (audit.number == Format::f32) plot.x_title = "scheme";
  return plot;
}

/// Where slices lose something, in words.
std::vector<std::string> breaks_of(const SliceAudit& audit) {
  std::vector<std::string> out;
  const bool digits = audit.number == Format::f64;
  const auto say = [&](const SliceFacts& facts, const char* lane) {
    const auto add = [&](const std::string& what) { out.push_back(facts.tensor.role + ": " + what); };
    if (facts.widest > 0)
      add(fmt::format(
          "{} {} spans {} binary exponents{}", lane, facts.widest_lane, facts.widest,
          digits ? fmt::format("; its least number keeps at most {} bits with 8 slices, {} with 10",
                               std::clamp(55 - facts.widest, 0, 53), std::clamp(69 - facts.widest, 0, 53))
                 : ""));
    if (facts.not_finite > 0)
      add(fmt::format(
          "an infinity or a NaN in {} {}{}{}", facts.not_finite, lane, facts.not_finite == 1 ? "" : "s",
          digits
              ? ": ozaki1 and ozaki2 make every element there NaN, cublas-f64 computes all of D in binary64"
              : ""));
    if (facts.subnormal > 0) add(fmt::format("numbers that are subnormal: {}", facts.subnormal));
    if (facts.negative_zero > 0)
      add(fmt::format("negative zeros: {}; sums start from +0, so that an element of zeros is +0",
                      facts.negative_zero));
  };
  say(audit.a, "row");
  say(audit.b, "column");
  if (audit.not_finite > 0)
    out.push_back(fmt::format("{} of {} elements of A B are not finite and in no error", audit.not_finite,
                              audit.compared));
  if (audit.beyond > 0)
    out.push_back(fmt::format("{} of {} elements of A B are above the largest number of {} and in no error",
                              audit.beyond, audit.compared, name_of(audit.number)));
  out.insert(out.end(), audit.refused.begin(), audit.refused.end());
  return out;
}

std::string headline_of(const SliceAudit& audit) {
  const std::uint64_t others = audit.not_finite + audit.beyond;
  if (audit.use) {
    const SliceRow& row = audit.rows[*audit.use];
    return fmt::format(
        "Use {}: {} product{}, error {} (element {}){}.", row.name, row.products,
        row.products == 1 ? "" : "s", error_text(row.errors.norm), error_text(row.errors.element),
        others == 0 ? ""
                    : fmt::format(", without {} of {} elements that are not finite", others, audit.compared));
  }
  if (audit.beyond > 0 || audit.not_finite == audit.compared)
    return fmt::format("No advice: {} of {} elements can't be measured.", others, audit.compared);
  if (audit.zero()) return "No advice: every element of A B that was looked at is zero.";
  const auto error = [&](const SliceRow& row) {  // of what is asked for
    return std::pair(row.errors.lost,
                     audit.limit > 0 || !audit.limited() ? row.errors.norm : row.errors.element);
  };
  const SliceRow& least =
      *std::min_element(audit.rows.begin(), audit.rows.end(),
                        [&](const auto& x, const auto& y) { return error(x) < error(y); });
  const std::string best =
      fmt::format("the least error is {} (element {}), of {}", error_text(least.errors.norm),
                  error_text(least.errors.element), least.name);
  if (!audit.measures())
    return fmt::format(
        "No advice: a chain of fma has no right digit here (error {}), so it is no measure; {}. Ask for an "
        "error: "
        "--max-rel-fro or --max-element-error.",
        error_text(audit.native.norm), best);
  const bool lost = std::all_of(audit.rows.begin(), audit.rows.end(), [&](const SliceRow& row) {
    return row.falls_back || row.errors.lost > audit.native.lost;
  });
  return fmt::format("No scheme of {} is within the limits: {}.", name_of(audit.number),
                     lost ? "infinities and NaNs come out otherwise" : best);
}

/// What a sample says of the rest.
std::string extent_of(const SliceAudit& audit) {
  if (!audit.sampled) return fmt::format("all {} elements", audit.compared);
  std::string sample = fmt::format("a sample of {} elements", audit.compared);
  if (!audit.use) return sample;
  if (audit.whole) return fmt::format("{}; the advice holds on all {}", sample, audit.m * audit.n);
  return fmt::format("{}; the advice holds on {}{}: others may need more", sample, audit.checked,
                     audit.limited() ? fmt::format(", {} times below", kSampleMargin) : "");
}

Json json_errors(const SliceErrors& errors) {
  return {{"norm", errors.norm}, {"element", errors.element}, {"lost", errors.lost}};
}

std::string json_of(const SliceAudit& audit) {
  Json rows = Json::array();
  for (const SliceRow& row : audit.rows)
    rows.push_back({{"scheme", row.name},
                    {"instruction", row.instruction},
                    {"evidence", row.evidence},
                    {"source", row.slicing.scheme->source},
                    {"products", row.products},
                    {"falls_back", row.falls_back},
                    {"errors", json_errors(row.errors)}});
  return document({{"schema", "mmaudit.audit.slices/1"},
                   {"architecture", audit.architecture},
                   {"format", name_of(audit.number)},
                   {"shape", {audit.m, audit.n, audit.k}},
                   {"elements", audit.compared},
                   {"checked", audit.checked},
                   {"unmeasured", audit.not_finite + audit.beyond},
                   {"not_finite", audit.not_finite},
                   {"beyond", audit.beyond},
                   {"refused", audit.refused},
                   {"headline", headline_of(audit)},
                   {"sampled", audit.sampled},
                   {"limits", {{"norm", audit.limit}, {"element", audit.element_limit}}},
                   {"native", json_errors(audit.native)},
                   {"use", audit.use ? audit.rows[*audit.use].name : ""},
                   {"rows", rows}});
}

}  // namespace

Report report_of(const SliceAudit& audit) {
  Report out{.title = fmt::format("Slices for {}", name_of(audit.number))};
  out.tone = audit.use ? Tone::good : Tone::bad;
  out.headline = headline_of(audit);
  out.lead = {fmt::format("D ({} x {}) = A B, K = {}, {}; wanted: {}; {}", audit.m, audit.n, audit.k,
                          name_of(audit.number), wanted(audit), extent_of(audit))};
  Section& errors = out.sections.emplace_back(Section{.title = "Errors"});
  errors.plots = {curve_of(audit)};
  errors.tables = {schemes_of(audit)};
  errors.notes = {
      "norm: Frobenius, of D - exact over exact. element: largest |D - exact| over the sum of all |a b|, "
      "without half the least subnormal number. "
      "lost: "
      "elements that are NaN or infinite where A B is not, or the other way round."};
  if (std::vector<std::string> breaks = breaks_of(audit); !breaks.empty())
    out.sections.emplace_back(Section{.title = "Where it breaks", .lines = std::move(breaks)});
  if (std::any_of(audit.rows.begin(), audit.rows.end(), [](const SliceRow& row) { return !row.falls_back; }))
    out.sections.push_back(section_of(speeds_of(audit)));
  out.json = [audit] { return json_of(audit); };
  out.records = schemes_of(audit);
  out.provenance = audit.provenance;
  return out;
}

}  // namespace mmaudit::report
