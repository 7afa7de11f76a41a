#pragma once
// Summaries of repeated measurements.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mmaudit::sweeps {

struct Statistics {
  int count = 0;
  double median = 0, lower_quartile = 0, upper_quartile = 0, least = 0, most = 0;
  /// Distance of the quartiles over the median: a tenth of the samples may be anything without moving it.
  [[nodiscard]] double noise() const { return median != 0 ? (upper_quartile - lower_quartile) / median : 0; }
};

/// What: order statistics, quartiles interpolated between neighbours. Range: any count; all 0 for none.
Statistics statistics_of(std::vector<double> samples);
/// The same of whole numbers from `first` to the end of the counts: counts[n] of each number n; no sorting.
Statistics statistics_of_counts(std::span<const std::uint64_t> counts, std::size_t first = 0);

/// When to stop repeating: after `least` runs as soon as the noise is at most `noise`, after `most` in any
/// case.
struct RunRule {
  int warm_ups = 2;
  int least = 21, most = 63;
  double noise = 0.005;
  double gpu_milliseconds = 3;  ///< how long a run on all multiprocessors takes, about
  /// How long an energy is measured, at most: seconds, or steps of all launches together.
  double energy_seconds = 10, energy_steps = 2e9;
};

bool enough(const std::vector<double>& samples, const RunRule& rule);

/// A sample counts as throttled when its clock was below this share of the highest the GPU allows.
inline constexpr double kThrottledBelow = 0.98;

}  // namespace mmaudit::sweeps
