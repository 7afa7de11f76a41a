// Two checks of libraries: which kinds of fault are new, and which are gone.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "gemm/check.hpp"

namespace mmaudit::checks {
namespace {

using Kind = GemmCheckChange::Kind;
using Key = std::tuple<std::string, std::string, std::string>;  ///< type, place in the list, kind of fault

std::map<Key, std::uint64_t> wrong_calls_of(const GemmCheck& check) {
  std::map<Key, std::uint64_t> out;
  for (const GemmFault& each : check.faults)
    ++out[{type_of(each.problem), place_of(each.problem), kind_of(each)}];
  return out;
}

std::uint64_t calls_of(const GemmCheck& check, const std::string& type, const std::string& place) {
  const auto found = check.types.find(type);
  if (found == check.types.end()) return 0;
  const auto calls = found->second.calls_by.find(place);
  return calls == found->second.calls_by.end() ? 0 : calls->second;
}

double share(std::uint64_t part, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

/// Calls that a fault that one of the two has would show in the other, of the same frequency.
double awaited(const GemmCheckChange& x) {
  return x.old_wrong == 0 ? share(x.new_wrong, x.new_calls) * static_cast<double>(x.old_calls)
                          : share(x.old_wrong, x.old_calls) * static_cast<double>(x.new_calls);
}

/// What was asked, whichever library and GPU answered.
Json products_of(const GemmCheck& check) {
  Json out = check.asked;
  if (out.is_object()) out.erase("cublas"), out.erase("gpu");
  return out;
}

}  // namespace

GemmCheckDiff diff_gemm_checks(const GemmCheck& before, const GemmCheck& after) {
  GemmCheckDiff out;
  for (const auto& [field, was, is] :
       {std::tuple{"GPU", before.gpu, after.gpu}, {"cuBLASLt", before.library, after.library}})
    if (was != is) out.provenance.push_back(fmt::format("{}: {}, was {}", field, is, was));
  const bool same_products = products_of(before) == products_of(after) && before.taken == after.taken;
  if (!same_products) out.provenance.emplace_back("products: others, or another number of them");
  const std::map<Key, std::uint64_t> old_wrong = wrong_calls_of(before), new_wrong = wrong_calls_of(after);
  std::set<Key> keys;
  for (const auto* const each : {&old_wrong, &new_wrong})
    for (const auto& [key, calls] : *each) keys.insert(key);
  for (const auto& [name, type] : after.types) out.calls += type.calls;
  for (const Key& key : keys) {
    const auto& [type, place, fault] = key;
    const auto count = [&key = key](const std::map<Key, std::uint64_t>& of) {
      const auto found = of.find(key);
      return found == of.end() ? 0 : found->second;
    };
    GemmCheckChange x{.type = type, .place = place, .fault = fault};
    x.old_wrong = count(old_wrong), x.old_calls = calls_of(before, type, place);
    x.new_wrong = count(new_wrong), x.new_calls = calls_of(after, type, place);
    constexpr double kEnough = 3;  // none is then seen by chance once in 20 times: exp(-3)
    if (x.old_wrong == 0 || x.new_wrong == 0) {
      const bool enough = (same_products && x.old_calls != 0 && x.new_calls != 0) || awaited(x) >= kEnough;
      x.kind = !enough ? Kind::unseen : x.old_wrong == 0 ? Kind::added : Kind::gone;
    }
    out.changes.push_back(std::move(x));
  }
  return out;
}

report::Report report_of(const GemmCheckDiff& diff) {
  constexpr std::string_view kWords[] = {"as before", "new", "gone", "not seen, too few calls"};
  report::Report out{.title = "What another library changed"};
  out.suite = "mmaudit diff";
  report::Table table{.title = "Faults",
                      .columns = {"type", "call", "what is wrong", {"OLD", true}, {"NEW", true}, "change"}};
  std::uint64_t counts[std::size(kWords)] = {};
  for (const GemmCheckChange& x : diff.changes) {
    const auto at = static_cast<std::size_t>(x.kind);
    ++counts[at];
    std::string change(kWords[at]);
    if (x.kind == Kind::unseen)
      change += fmt::format(" of {}: {:.1f} awaited", x.old_wrong == 0 ? "OLD" : "NEW", awaited(x));
    table.rows.push_back(
        {x.type, x.place, x.fault, fmt::format("{} of {} calls", x.old_wrong, x.old_calls),
         fmt::format("{} of {} calls", x.new_wrong, x.new_calls),
         report::Cell(change, x.kind == Kind::added ? report::Tone::bad : report::Tone::plain)});
  }
  const std::uint64_t changed = counts[static_cast<int>(Kind::added)] + counts[static_cast<int>(Kind::gone)];
  out.tone = changed == 0 && diff.calls != 0 ? report::Tone::good : report::Tone::bad;
  out.headline = diff.calls == 0
                     ? "NEW has no calls"
                     : fmt::format(
                           "{} of {} kinds of fault are new, {} gone, {} as before, {} not seen in too few "
                           "calls of OLD or NEW; NEW: {} calls",
                           counts[1], diff.changes.size(), counts[2], counts[0], counts[3], diff.calls);
  out.headline_last = true;
  out.sections = {{.title = "What differs between OLD and NEW", .lines = diff.provenance},
                  section_of(std::move(table))};
  return out;
}

}  // namespace mmaudit::checks
