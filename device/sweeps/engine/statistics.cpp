#include "mmaudit/sweeps/statistics.hpp"

#include <algorithm>
#include <cstddef>

namespace mmaudit::sweeps {
namespace {

/// Of `count` sorted numbers, the one at a place being sorted(place).
template <typename Sorted>
double quantile(std::size_t count, double share, const Sorted& sorted) {
  const double at = share * static_cast<double>(count - 1);
  const auto below = static_cast<std::size_t>(at);
  const double low = sorted(below), high = sorted(std::min(below + 1, count - 1));
  return low + (at - static_cast<double>(below)) * (high - low);
}

template <typename Sorted>
Statistics statistics_of_sorted(std::size_t count, const Sorted& sorted) {
  if (count == 0) return {};
  return {static_cast<int>(count),
          quantile(count, 0.5, sorted),
          quantile(count, 0.25, sorted),
          quantile(count, 0.75, sorted),
          sorted(0),
          sorted(count - 1)};
}

}  // namespace

Statistics statistics_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return statistics_of_sorted(samples.size(), [&](std::size_t place) { return samples[place]; });
}

Statistics statistics_of_counts(std::span<const std::uint64_t> counts, std::size_t first) {
  std::vector<std::uint64_t> until;  // how many numbers are at most that one
  std::uint64_t sum = 0;
  for (std::size_t number = first; number < counts.size(); ++number) until.push_back(sum += counts[number]);
  return statistics_of_sorted(sum, [&](std::size_t place) {
    const auto at = std::upper_bound(until.begin(), until.end(), place);
    return static_cast<double>(first + static_cast<std::size_t>(at - until.begin()));
  });
}

bool enough(const std::vector<double>& samples, const RunRule& rule) {
  const int count = static_cast<int>(samples.size());
  if (count < rule.least) return false;
  return count >= rule.most || statistics_of(samples).noise() <= rule.noise;
}

}  // namespace mmaudit::sweeps
