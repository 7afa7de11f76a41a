#pragma once
// What the grid says, beyond its numbers: convergence points, and statements that hold or do not.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/sweeps/result.hpp"

namespace mmaudit::sweeps {

/// The state with these coordinates; axes that the subject lacks are not asked. Null when it was not
/// measured.
struct Point {
  std::string_view subject;
  int warps = 1, ilp = 1;
  std::string_view init = "random";
  int n = 0, ways = 0;
  std::string_view a = {};
  std::string_view scope = "sm";
};
const State* find_point(const SweepResult& result, const Point& point);
/// One number of it.
std::optional<double> value_at(const SweepResult& result, const Point& point, std::string_view summary);

/// Where more independent chains stop to pay, with this many warps.
struct Convergence {
  int warps = 0, ilp = 0;
  double cycles = 0, rate = 0;  ///< rate: FMA/clk/SM or B/clk/SM
};
/// What: the least ILP whose rate reaches 97% of the best rate with as many warps; the convergence points of
/// Sun et al. are those of 4 and of 8 warps. nullopt when the warps were not swept.
std::optional<Convergence> convergence_of(const SweepResult& result, std::string_view subject,
                                          std::string_view init, int warps, int ways = 0);

struct Finding {
  std::string statement;
  std::optional<bool> holds;  ///< nullopt: what it needs was not measured
  std::string measured;       ///< the numbers it rests on
  std::string source;         ///< who found it first
};

/// Every statement, computed from `result` alone.
std::vector<Finding> findings_of(const SweepResult& result);

}  // namespace mmaudit::sweeps
