// Which shapes fail: rules over sizes and slices, from simple to special, tried on every shape that was run.
#include <algorithm>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/exact_product.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::exact {
namespace {

struct Rule {
  std::string text;
  std::function<bool(const Trial&)> holds;
};

struct Size {
  const char* name;
  std::uint64_t Trial::*of;
};
constexpr Size kSizes[] = {{"K", &Trial::k},
                           {"M", &Trial::m},
                           {"N", &Trial::n},
                           {"the batch", &Trial::batch},
                           {"slices", &Trial::slices}};

/// Thresholds that part the failing from the others, then divisors, then how K is cut.
std::vector<Rule> rules_of(const std::vector<Trial>& trials) {
  std::vector<Rule> out;
  for (const Size& size : kSizes) {
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (const Trial& each : trials)
      if (each.failing) least = std::min(least, each.*size.of), most = std::max(most, each.*size.of);
    out.push_back({with_values("{} is {} or more", {size.name, least}),
                   [of = size.of, least](const Trial& x) { return x.*of >= least; }});
    out.push_back({with_values("{} is {} or less", {size.name, most}),
                   [of = size.of, most](const Trial& x) { return x.*of <= most; }});
  }
  for (const Size& size : kSizes)
    for (std::uint64_t t = 2; t <= 512; t *= 2)
      for (const bool divides : {false, true})
        out.push_back({with_values("{} mod {} is {}0", {size.name, t, divides ? "" : "not "}),
                       [of = size.of, t, divides](const Trial& x) { return (x.*of % t == 0) == divides; }});
  out.push_back(
      {"K mod slices is not 0", [](const Trial& x) { return x.slices > 1 && x.k % x.slices != 0; }});
  for (std::uint64_t t = 8; t <= 512; t *= 2)  // slices of whole tiles, rounded from a quotient that is cut
    out.push_back({with_values("slices * ceil(floor(K / slices) / {}) * {} is less than K", {t, t}),
                   [t](const Trial& x) {
                     return x.slices > 1 &&
                            x.slices * mmaudit::detail::quotient_up(x.k / x.slices, t) * t < x.k;
                   }});
  return out;
}

}  // namespace

std::string condition_of(const std::vector<Trial>& trials) {
  const auto failing = std::count_if(trials.begin(), trials.end(), [](const Trial& x) { return x.failing; });
  if (failing == 0) return {};
  if (failing == static_cast<std::ptrdiff_t>(trials.size())) return "every shape that was tried";
  std::vector<Rule> rules = rules_of(trials);
  std::erase_if(rules, [&](const Rule& rule) {  // one that misses a failing shape is no part of a condition
    return std::any_of(trials.begin(), trials.end(),
                       [&](const Trial& x) { return x.failing && !rule.holds(x); });
  });
  const auto explains = [&](const Rule& one, const Rule& other) {
    return std::none_of(trials.begin(), trials.end(),
                        [&](const Trial& x) { return !x.failing && one.holds(x) && other.holds(x); });
  };
  for (const Rule& rule : rules)
    if (explains(rule, rule)) return rule.text;
  for (std::size_t i = 0; i < rules.size(); ++i)
    for (std::size_t j = i + 1; j < rules.size(); ++j)
      if (explains(rules[i], rules[j])) return rules[i].text + " and " + rules[j].text;
  return {};
}

}  // namespace mmaudit::exact
