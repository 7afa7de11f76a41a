// Chains of binary64 fused multiply-adds.
#include <algorithm>

#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (!list.spec.binary64) return;
  for (const KOrder order : {KOrder::descending, KOrder::halves, KOrder::even_then_odd}) {
    const bool same = order == KOrder::halves;
    list.add(
        "order of k",
        order == KOrder::descending ? "descending"
        : same                      ? "halves"
                                    : "even, then odd",
        [&](auto& x) { x.order = order; }, same ? "halves in ascending order are ascending order" : "");
  }
  constexpr std::pair<Rounding, std::string_view> kRoundings[] = {{Rounding::toward_zero, "toward zero"},
                                                                  {Rounding::down, "toward minus infinity"},
                                                                  {Rounding::up, "toward plus infinity"}};
  list.add_each("output rounding", kRoundings, rounding_of);
  for (const std::string_view priority : {"abc", "acb", "bac", "cab", "cba"}) {
    list.add("NaN priority", fmt::format("{}", priority),
             [&](auto& x) { std::copy(priority.begin(), priority.end(), x.nan_priority); });
  }
  list.add("NaN", "canonical", [](auto& x) { x.output.nan = NanRule::canonical; });
}

}  // namespace

const MutantGroup kFmaChain = {50, add_to};

}  // namespace mmaudit::mutants
