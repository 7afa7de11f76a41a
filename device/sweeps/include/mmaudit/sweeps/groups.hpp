#pragma once
// Groups of numbers that lie close together.
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/sweeps/bench_target.hpp"

namespace mmaudit::sweeps {

/// What: k-means of numbers in one dimension, exact: the cut of the sorted numbers into `count` groups whose
/// squared distances from their means are least in sum. Range: as many groups as there are numbers at most.
/// Returns the last number of each group but the greatest, in rising order.
std::vector<double> cuts_of(std::vector<double> numbers, int count);

/// The same of whole numbers, counts[n] of each number n: no sorting. Range: some count is above 0.
std::vector<double> cuts_of_counts(std::span<const std::uint64_t> counts, int count);

/// The group of a number, 0 for the least.
int group_of(double number, std::span<const double> cuts);

/// What: cycles of first loads of lines and of second loads of the same lines, in groups; adds to
/// `out.others`. A line that was loaded just before is in the near half of the second-level cache: what takes
/// no longer is a near hit. What takes longer falls into three groups. Resident lines: far hits, near misses
/// and the rest. Lines in memory: near misses, far misses and those that wait for an address too. Range: at
/// least one load.
void group_loads(const std::vector<double>& first, std::vector<double> again, bool resident,
                 Measurement& out);

}  // namespace mmaudit::sweeps
