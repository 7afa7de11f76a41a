#include "mmaudit/sweeps/groups.hpp"

#include <algorithm>
#include <limits>

namespace mmaudit::sweeps {
namespace {

/// Equal numbers, of which latencies have many.
struct Run {
  double value = 0, count = 0;
};

std::vector<Run> runs_of(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<Run> runs;
  for (const double number : numbers) {
    if (runs.empty() || runs.back().value != number) runs.push_back({number, 0});
    ++runs.back().count;
  }
  return runs;
}

/// Squared distances from their mean of the runs [first, last], from sums of everything before a run.
class Costs {
 public:
  explicit Costs(const std::vector<Run>& runs)
      : count_(1), sum_(1), squares_(1), origin_(runs.front().value) {
    for (const Run& run : runs) {
      const double value = run.value - origin_;  // small numbers lose nothing when squared
      count_.push_back(count_.back() + run.count);
      sum_.push_back(sum_.back() + run.count * value);
      squares_.push_back(squares_.back() + run.count * value * value);
    }
  }
  [[nodiscard]] double of(std::size_t first, std::size_t last) const {
    const double count = count_[last + 1] - count_[first], sum = sum_[last + 1] - sum_[first];
    return squares_[last + 1] - squares_[first] - sum * sum / count;
  }

 private:
  std::vector<double> count_, sum_, squares_;
  double origin_;
};

std::vector<double> cuts_of_runs(const std::vector<Run>& runs, int count) {
  if (runs.empty()) return {};
  const Costs costs(runs);
  const std::size_t groups = std::min(static_cast<std::size_t>(std::max(count, 1)), runs.size());
  // least[g][i]: of the runs up to i in g + 1 groups; from[g][i]: where the last of them starts.
  std::vector<std::vector<double>> least(groups, std::vector<double>(runs.size()));
  std::vector<std::vector<std::size_t>> from(groups, std::vector<std::size_t>(runs.size()));
  for (std::size_t i = 0; i < runs.size(); ++i) least[0][i] = costs.of(0, i);
  for (std::size_t group = 1; group < groups; ++group)
    for (std::size_t i = group; i < runs.size(); ++i) {
      least[group][i] = std::numeric_limits<double>::infinity();
      for (std::size_t start = group; start <= i; ++start)
        if (const double cost = least[group - 1][start - 1] + costs.of(start, i); cost < least[group][i]) {
          least[group][i] = cost;
          from[group][i] = start;
        }
    }
  std::vector<double> cuts;
  std::size_t last = runs.size() - 1;
  for (std::size_t group = groups; group-- > 1;) {
    last = from[group][last] - 1;
    cuts.push_back(runs[last].value);
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace

std::vector<double> cuts_of(std::vector<double> numbers, int count) {
  return cuts_of_runs(runs_of(std::move(numbers)), count);
}

std::vector<double> cuts_of_counts(std::span<const std::uint64_t> counts, int count) {
  std::vector<Run> runs;
  for (std::size_t number = 0; number < counts.size(); ++number)
    if (counts[number] > 0)
      runs.push_back({static_cast<double>(number), static_cast<double>(counts[number])});
  return cuts_of_runs(runs, count);
}

int group_of(double number, std::span<const double> cuts) {
  return static_cast<int>(std::lower_bound(cuts.begin(), cuts.end(), number) - cuts.begin());
}

}  // namespace mmaudit::sweeps
