#pragma once
// torch.distributed on this machine, one process per rank, and what its sums are compared with.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/collective.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

struct CollectiveRun {
  std::string backend = "gloo", python = "python3";
  CollectiveProblem problem;
  std::uint64_t calls = 1;  ///< of these sizes, one after another
};
struct CollectiveAnswer {
  /// (rank, call, elements): of an all-reduce what each rank got, else the results of the ranks.
  std::vector<std::vector<std::byte>> ranks;
  std::string version, log;  ///< of torch; what NCCL said
};
/// What: runs x, (calls, ranks, count) in storage width. Errors: EnvironmentError where torch can't.
CollectiveAnswer run_torch(const CollectiveRun& run, const std::vector<std::byte>& x);

/// What: (ranks, count) numbers around 1 of either sign; of eight elements one has any bits on every rank.
std::vector<std::byte> collective_inputs(const CollectiveProblem& problem, std::uint64_t seed);

/// Elements of y in storage width that have other bits than by the plan.
struct CollectiveDifference {
  std::uint64_t compared = 0, wrong = 0;
  std::string first;  ///< "element 7, order ((1 + 2) + 3) + 0: 0x3F800000 instead of 0x3F800001"
};
void compare_collective(const CollectiveProblem& problem, const CollectivePlan& plan,
                        const std::vector<std::byte>& expected, const std::vector<std::byte>& found,
                        CollectiveDifference& out);

/// Masks: call p of a pair of ranks has a large number on one, its negative on the other, and 1 elsewhere.
/// What is left says how many ranks join behind both.
std::vector<std::byte> mask_inputs(const CollectiveProblem& problem);
inline std::uint64_t pairs_of(std::uint64_t ranks) { return ranks * (ranks - 1) / 2; }
/// The order of an element, from the results of its masks; "" where no order gives them. Which of two comes
/// first does not show.
std::string order_of_masks(std::uint64_t ranks, const std::vector<std::uint64_t>& left);

}  // namespace mmaudit::checks
