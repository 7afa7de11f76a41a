#include "mmaudit/sweeps/statistics.hpp"

#include <algorithm>
#include <cstddef>

namespace mmaudit::sweeps {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Statistics statistics_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {static_cast<int>(samples.size()), quantile(samples, 0.5), quantile(samples, 0.25),
          quantile(samples, 0.75),          samples.front(),        samples.back()};
}

bool enough(const std::vector<double>& samples, const RunRule& rule) {
  const int count = static_cast<int>(samples.size());
  if (count < rule.least) return false;
  return count >= rule.most || statistics_of(samples).noise() <= rule.noise;
}

}  // namespace mmaudit::sweeps
