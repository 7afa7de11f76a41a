#pragma once
// Groups of numbers that lie close together.
#include <span>
#include <vector>

namespace mmaudit::sweeps {

/// What: k-means of numbers in one dimension, exact: the cut of the sorted numbers into `count` groups whose
/// squared distances from their means are least in sum. Range: as many groups as there are numbers at most.
/// Returns the last number of each group but the greatest, in rising order.
std::vector<double> cuts_of(std::vector<double> numbers, int count);

/// The group of a number, 0 for the least.
int group_of(double number, std::span<const double> cuts);

}  // namespace mmaudit::sweeps
