#include "mmaudit/laws/report.hpp"

#include <algorithm>

#include "mmaudit/comparison.hpp"

namespace mmaudit::laws {

std::size_t CheckedLaw::applied() const {
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(),
                                                [](const LawResult& one) { return one.skipped.empty(); }));
}

std::size_t CheckedLaw::bad() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const LawResult& one) { return !one.good(); }));
}

std::uint64_t CheckedLaw::judged() const { return sum_of(results, &LawResult::judged); }

bool LawReport::judged_something() const {
  return std::any_of(laws.begin(), laws.end(), [](const CheckedLaw& one) { return one.judged() != 0; });
}

bool LawReport::good() const {
  return judged_something() &&
         std::all_of(laws.begin(), laws.end(), [](const CheckedLaw& one) { return one.good(); });
}

}  // namespace mmaudit::laws
