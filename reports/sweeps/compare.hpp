#pragma once
// Two sweeps, point by point.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/report.hpp"
#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

enum class Change : std::uint8_t {
  same,      ///< within the noise of both
  fast,      ///< better by more than the noise of either
  slow,      ///< worse by more than the noise of either
  ambiguous  ///< between the two noises, or a sample was throttled
};

struct SweepComparison {
  std::string key;
  std::string_view quantity;  ///< "cycles", or "seconds" by CUDA events for the whole GPU
  double before = 0, after = 0;
  double noise_before = 0, noise_after = 0;
  Change change = Change::same;
};

struct Compared {
  std::vector<SweepComparison> points;
  std::vector<std::string> only_before, only_after;  ///< keys
  [[nodiscard]] int count(Change change) const;
  /// Of the points that the old sweep measured, those that the new one has too.
  [[nodiscard]] double share() const;
};

/// A comparison or a gate that saw less than this share of a sweep does not pass, unless its user lowers it.
inline constexpr double kLeastShare = 0.9;

/// "8 of 8410 points of OLD (0.1%), at least 90% are needed": `seen` of `all` of `what`, and what is needed
/// where it is not reached.
std::string share_text(std::uint64_t seen, std::uint64_t all, std::string_view what, double least);

/// Noise counts as at least this: medians of cycles can be equal to the last digit.
inline constexpr double kLeastNoise = 0.005;

/// What: relative change against the noise (distance of the quartiles over the median) of the two points: no
/// more than the smaller is the same, more than the larger is faster or slower, between them ambiguous. A
/// change of seconds is ambiguous too where samples were throttled. Seconds are per FLOP.
Change classify(double before, double noise_before, double after, double noise_after, bool throttled);

Compared compare(const SweepResult& before, const SweepResult& after);

std::string_view name_of(Change change);
/// Bad where a point is slower, or less than `least` of the old points were seen. Everything that is not the
/// same as tables, all as records; many points that one sweep alone has are counted per benchmark.
report::Report report_of(const Compared& compared, double least = kLeastShare);

}  // namespace mmaudit::sweeps
