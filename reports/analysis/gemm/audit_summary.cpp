// An audit of tensors in a few sentences: what to use, what fails and why, once per cause.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "audit_tables.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

using Rows = std::vector<const GemmAuditRow*>;

bool same_combination(const GemmAuditRow& x, const GemmAuditRow& y) {
  return x.dtype == y.dtype && x.scaling == y.scaling && x.accumulation == y.accumulation;
}

/// "e4m3 with scale 1x128 and promote:128", "bf16 with plain sums".
std::string in_words(const GemmAuditRow& row) {
  const std::string sums = row.accumulation == "plain"  ? "plain sums"
                           : row.accumulation == "half" ? "binary16 sums"
                                                        : row.accumulation;
  return row.scaling == "none" ? fmt::format("{} with {}", row.dtype, sums)
                               : fmt::format("{} with scale {} and {}", row.dtype, row.scaling, sums);
}

std::string listed(const std::vector<std::string>& words, std::string_view last = "and") {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} {} {}", fmt::join(words.begin(), words.end() - 1, ", "), last, words.back());
}

template <class Of>
std::vector<std::string> distinct(const Rows& rows, const Of& of) {
  std::vector<std::string> out;
  for (const GemmAuditRow* row : rows)
    if (std::string one = of(*row); std::find(out.begin(), out.end(), one) == out.end())
      out.push_back(std::move(one));
  return out;
}

Rows all_rows(const GemmAudit& audit) {
  Rows out;
  for (const GemmAuditRow& row : audit.rows_of) out.push_back(&row);
  return out;
}

/// The least error of every type of which no row passes, fewest bits first.
Rows failing_types(const GemmAudit& audit) {
  Rows out;
  for (const std::string& dtype :
       distinct(all_rows(audit), [](const GemmAuditRow& row) { return row.dtype; })) {
    const GemmAuditRow* least = nullptr;
    bool passes = false;
    for (const GemmAuditRow& row : audit.rows_of) {
      if (row.dtype != dtype) continue;
      passes = passes || row.verdict == GemmVerdict::pass;
      if (least == nullptr ||
          (has_total(row) && (!has_total(*least) || row.errors.total < least->errors.total)))
        least = &row;
    }
    if (!passes) out.push_back(least);
  }
  std::stable_sort(out.begin(), out.end(), [](const GemmAuditRow* x, const GemmAuditRow* y) {
    return element_bits(*x) < element_bits(*y);
  });
  return out;
}

/// "channels 77 and 640".
std::string wide_channels(const GemmAuditRow& row) {
  return fmt::format("channel{} {}", row.channels.wide.size() == 1 ? "" : "s",
                     channels_text(row.channels, 3));
}

/// "channels 77 and 640" where it would pass with them in BF16, else "quantization", "overflow": on what a
/// row fails.
std::string culprit_of(const GemmAudit& audit, const GemmAuditRow& row) {
  const auto& kept = row.channels.kept;
  return row.cause == "quantization" && kept && audit.limit && *kept <= *audit.limit ? wide_channels(row)
                                                                                     : row.cause;
}

/// "nvf4 and e5m2 fail on channel 77": types of the same culprit together.
std::string failures_text(const GemmAudit& audit, const Rows& failing) {
  std::vector<std::string> out;
  const auto of = [&](const GemmAuditRow& row) { return culprit_of(audit, row); };
  for (const std::string& culprit : distinct(failing, of)) {
    Rows same;
    for (const GemmAuditRow* row : failing)
      if (of(*row) == culprit) same.push_back(row);
    out.push_back(fmt::format("{} fail{} on {}",
                              listed(distinct(same, [](const GemmAuditRow& row) { return row.dtype; })),
                              same.size() == 1 ? "s" : "", culprit));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

/// "nvf4 1.04e-01 (with channels 77 and 640 in BF16, a quantization error of 1.24e-02)".
std::string least_text(const GemmAuditRow& row) {
  if (!has_total(row)) return row.dtype + " overflows";
  std::string text = fmt::format("{} {}", row.dtype, error_text(row.errors.total));
  if (const auto& kept = row.channels.kept)
    text +=
        fmt::format(" (with {} in BF16, a quantization error of {})", wide_channels(row), error_text(*kept));
  return text;
}

std::string use_text(const GemmAudit& audit, const Rows& use) {
  std::string text;
  Rows said;
  for (const GemmAuditRow* one : use) {
    if (std::any_of(said.begin(), said.end(),
                    [&](const GemmAuditRow* row) { return same_combination(*row, *one); }))
      continue;
    said.push_back(one);
    Rows same;
    for (const GemmAuditRow* row : use)
      if (same_combination(*row, *one)) same.push_back(row);
    const auto gpus = distinct(same, [](const GemmAuditRow& row) { return printable(row.architecture); });
    const auto most = std::max_element(
        same.begin(), same.end(),
        [](const GemmAuditRow* x, const GemmAuditRow* y) { return x->errors.total < y->errors.total; });
    text += fmt::format("{}{}{} (error {}, {})", text.empty() ? "Use " : "; ", in_words(*one),
                        several_architectures(audit) ? " on " + listed(gpus) : "",
                        error_text((*most)->errors.total), limits_text(audit));
  }
  return text;
}

/// What limits would allow on this GPU, the largest error first: in the order of goes_before() every row
/// whose error is clearly below all errors before it.
Rows offers(const GemmAudit& audit, const std::string& gpu) {
  constexpr double kClearly = 0.9;
  Rows rows, out;
  for (const GemmAuditRow& row : audit.rows_of)
    if (row.architecture == gpu && has_total(row) && !row.errors.loses()) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GemmAuditRow* x, const GemmAuditRow* y) { return goes_before(*x, *y); });
  for (const GemmAuditRow* row : rows)
    if (out.empty() || row->errors.total < kClearly * out.back()->errors.total) out.push_back(row);
  return out;
}

/// "Use e4m3 with plain sums where an error of 3.8e-02 is allowed, bf16 with plain sums for 3.0e-03; ", GPU
/// by GPU.
std::string offers_text(const GemmAudit& audit) {
  std::string text;
  for (const std::string& gpu :
       distinct(all_rows(audit), [](const GemmAuditRow& row) { return row.architecture; })) {
    std::vector<std::string> parts;
    for (const GemmAuditRow* row : offers(audit, gpu))
      parts.push_back(in_words(*row) + (parts.empty() ? " where a relative error of " : " for ") +
                      error_text(row->errors.total) + (parts.empty() ? " is allowed" : ""));
    if (parts.empty()) continue;
    text += fmt::format("{} {}{}; ", text.empty() ? "Use" : "use",
                        several_architectures(audit) ? fmt::format("on {} ", printable(gpu)) : "",
                        fmt::join(parts, ", "));
  }
  return text.empty() ? "Every combination overflows or leaves rows or columns of D without a number; "
                      : text;
}

/// " hopper has no nvf4, mxf4.": types asked for that a GPU can't compute in any way.
std::string lacking_text(const GemmAudit& audit) {
  std::map<std::string, std::set<std::string>> lacking;
  for (const GemmAbsent& one : audit.absent)
    if (one.lacks_dtype) lacking[one.architecture].insert(one.dtype);
  std::string text;
  for (const auto& [architecture, dtypes] : lacking)
    text += fmt::format(" {} has no {}.", printable(architecture), fmt::join(dtypes, ", "));
  return text;
}

/// "e4m3 tensor, row (plain)": what of an audit these rows of one type are.
std::string subjects_of_type(const GemmAudit& audit, const Rows& rows) {
  const auto scalings = distinct(rows, [](const GemmAuditRow& row) { return row.scaling; });
  Rows whole;
  for (const GemmAuditRow& row : audit.rows_of)
    if (row.dtype == rows.front()->dtype &&
        std::find(scalings.begin(), scalings.end(), row.scaling) != scalings.end())
      whole.push_back(&row);
  std::string text = rows.front()->dtype;
  if (scalings != std::vector<std::string>{"none"}) text += fmt::format(" {}", fmt::join(scalings, ", "));
  std::vector<std::string> only;
  for (const bool of_gpu : {false, true}) {
    const auto value = [=](const GemmAuditRow& row) {
      return of_gpu ? printable(row.architecture) : row.accumulation;
    };
    if (const auto some = distinct(rows, value); some.size() != distinct(whole, value).size())
      only.push_back(fmt::format("{}{}", of_gpu ? "on " : "", fmt::join(some, ", ")));
  }
  return only.empty() ? text : fmt::format("{} ({})", text, fmt::join(only, " "));
}

std::string subjects_text(const GemmAudit& audit, const Rows& rows) {
  if (rows.size() == 1) return subject_text(*rows.front(), several_architectures(audit));
  std::vector<std::string> out;
  for (const std::string& dtype : distinct(rows, [](const GemmAuditRow& row) { return row.dtype; })) {
    Rows of_type;
    for (const GemmAuditRow* row : rows)
      if (row->dtype == dtype) of_type.push_back(row);
    out.push_back(subjects_of_type(audit, of_type));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

/// "3.78e-02 to 7.08e-02", or one where both are printed alike.
std::string range_text(const std::string& least, const std::string& most) {
  return least == most ? least : least + " to " + most;
}

std::string reason_line(const GemmAudit& audit, const Rows& rows) {
  std::string why = rows.front()->why;
  if (rows.size() > 1) {
    why = rows.front()->cause;
    const auto [least, most] = std::minmax_element(
        rows.begin(), rows.end(),
        [](const GemmAuditRow* x, const GemmAuditRow* y) { return x->errors.total < y->errors.total; });
    if (has_total(**least) && has_total(**most) && rows.front()->verdict != GemmVerdict::not_judged)
      why += ", total " + range_text(error_text((*least)->errors.total), error_text((*most)->errors.total));
  }
  std::string line =
      fmt::format("{}: {} ({})", subjects_text(audit, rows), name_of(rows.front()->verdict), why);
  constexpr std::size_t kMostAdvice = 3;
  auto advice = distinct(rows, [](const GemmAuditRow& row) { return row.advice; });
  std::erase(advice, "");
  if (!advice.empty() && advice.size() <= kMostAdvice) {
    constexpr std::string_view kPasses = "passes here: ";
    const bool passes = advice.front().starts_with(kPasses);
    for (std::string& one : advice)
      if (one.starts_with(kPasses)) one.erase(0, kPasses.size());
    line += fmt::format("; {}{}", passes ? kPasses : "try ", listed(advice, "or"));
  }
  return printable(line, kLongestLine);
}

/// What to use, and what fails.
std::string advised(const GemmAudit& audit) {
  if (audit.rows_of.empty()) return "None of the combinations asked for can be computed.";
  if (audit.count(GemmVerdict::not_judged) == static_cast<int>(audit.rows_of.size()))
    return fmt::format("Nothing can be judged: {}.", audit.rows_of.front().why);
  if (!audit.judges())
    return offers_text(audit) + "no limit was given (--max-rel-fro), so nothing is judged.";
  const Rows use = to_use(audit);
  Rows failing = failing_types(audit);
  if (use.empty()) {
    const auto nearest =
        std::min_element(failing.begin(), failing.end(), [](const GemmAuditRow* x, const GemmAuditRow* y) {
          return std::tuple(!has_total(*x), x->errors.total) < std::tuple(!has_total(*y), y->errors.total);
        });
    const GemmAuditRow& row = **nearest;
    if (!has_total(row)) return "Nothing passes: every combination overflows." + lacking_text(audit);
    return fmt::format("Nothing passes. {} comes nearest: error {}, {} ({}: {}).{}", in_words(row),
                       error_text(row.errors.total), limits_text(audit), name_of(row.verdict), row.why,
                       lacking_text(audit));
  }
  std::erase_if(failing, [](const GemmAuditRow* row) { return row->verdict != GemmVerdict::fail; });
  return (failing.empty() ? use_text(audit, use) + "."
                          : fmt::format("{}; {}.", use_text(audit, use), failures_text(audit, failing))) +
         lacking_text(audit);
}

}  // namespace

int element_bits(const GemmAuditRow& row) {
  const auto bits = [](Format format) {
    return 1 + spec_of(format).exponent_bits + spec_of(format).fraction_bits;
  };
  const GemmDtype* dtype = find_gemm_dtype(row.dtype);
  return dtype == nullptr ? 64 : std::max(bits(dtype->element), bits(dtype->element_b()));
}

bool one_chain(const GemmAuditRow& row) { return row.accumulation == "plain" || row.accumulation == "half"; }

bool goes_before(const GemmAuditRow& x, const GemmAuditRow& y) {
  const auto key = [](const GemmAuditRow& row) {
    return std::tuple(element_bits(row), !one_chain(row), row.errors.total);
  };
  return key(x) < key(y);
}

std::vector<const GemmAuditRow*> to_use(const GemmAudit& audit) {
  Rows out;
  for (const std::string& gpu :
       distinct(all_rows(audit), [](const GemmAuditRow& row) { return row.architecture; })) {
    const GemmAuditRow* best = nullptr;
    for (const GemmAuditRow& row : audit.rows_of)
      if (row.architecture == gpu && row.verdict == GemmVerdict::pass &&
          (best == nullptr || goes_before(row, *best)))
        best = &row;
    if (best != nullptr) out.push_back(best);
  }
  return out;
}

std::string headline(const GemmAudit& audit) { return unjudged_text(audit) + advised(audit); }

std::string unjudged_text(const GemmAudit& audit) {
  const int unjudged = audit.count(GemmVerdict::not_judged), all = static_cast<int>(audit.rows_of.size());
  std::vector<std::string> parts = audit.missing;
  if (!parts.empty()) parts.back() += " (--allow-missing lets this pass)";
  if (unjudged != 0 && unjudged != all)
    parts.push_back(fmt::format("{} of {} combinations can't be judged", unjudged, all));
  return parts.empty() ? ""
                       : fmt::format("Not all that was asked for is judged: {}. ", fmt::join(parts, "; "));
}

std::string least_errors(const GemmAudit& audit) {
  std::vector<std::string> out;
  for (const GemmAuditRow* row : failing_types(audit))
    if (row->verdict != GemmVerdict::not_judged) out.push_back(least_text(*row));
  if (out.empty()) return "";
  return fmt::format("Least error of {}: {}.", audit.judges() ? "types that never pass" : "every type",
                     fmt::join(out, "; "));
}

std::string counts_text(const GemmAudit& audit) {
  const std::vector<std::string> gpus =
      distinct(all_rows(audit), [](const GemmAuditRow& row) { return printable(row.architecture); });
  const std::string what = fmt::format("D ({} x {}) = A B, K = {}{}{}", audit.m, audit.n, audit.k,
                                       gpus.empty() ? "" : ", on ", listed(gpus));
  if (audit.rows_of.empty() || !audit.judges())
    return fmt::format("{}: {} combinations.", what, audit.rows_of.size());
  std::string text =
      fmt::format("{}: {} of {} combinations ", what, audit.count(GemmVerdict::pass), audit.rows_of.size());
  if (audit.limit) text += fmt::format("stay within a relative error of {:.3g}", *audit.limit);
  if (audit.row_limit) text += fmt::format(" and of {:.3g} in every row and column", *audit.row_limit);
  if (audit.tolerances)
    text += fmt::format("{}pass a test with {}", audit.limit ? " and " : "", tolerances_text(audit));
  if (const int n = audit.count(GemmVerdict::fail); n != 0)
    text += fmt::format(", {} {}", n, n == 1 ? "fails" : "fail");
  if (const int n = audit.count(GemmVerdict::undecided); n != 0)
    text += fmt::format(", {} {} undecided", n, n == 1 ? "is" : "are");
  if (const int n = audit.count(GemmVerdict::not_judged); n != 0)
    text += fmt::format(", {} can't be judged", n);
  return text + ".";
}

std::vector<std::string> reasons(const GemmAudit& audit) {
  std::vector<Rows> groups;
  for (const GemmAuditRow& row : audit.rows_of) {
    if (row.verdict == GemmVerdict::pass || row.verdict == GemmVerdict::not_asked || row.cause.empty())
      continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Rows& group) {
      return group.front()->verdict == row.verdict && group.front()->cause == row.cause;
    });
    if (same == groups.end())
      groups.push_back({&row});
    else
      same->push_back(&row);
  }
  std::vector<std::string> out;
  out.reserve(groups.size());
  for (const Rows& group : groups) out.push_back(reason_line(audit, group));
  return out;
}

}  // namespace mmaudit::report
