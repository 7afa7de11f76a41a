#pragma once
// What the grid says, beyond its numbers: convergence points, and statements that hold or do not.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sweeps/point_groups.hpp"

namespace mmaudit::sweeps {

/// Coordinates of a point. Those that its benchmark lacks are not asked.
struct Query {
  std::string_view subject;
  int warps = 1, ilp = 1;
  std::string_view init = "random";  ///< empty: any
  Coordinates others = {};
  std::string_view scope = "sm";
};
/// Null when no such point was measured.
const Point* find_point(const SweepResult& result, const Query& query);
/// The same among some of the points.
const Point* find_point(const Points& points, const Query& query);

/// One number of a sweep; nullopt where it was not measured.
using Source = std::function<std::optional<double>(const SweepResult&)>;
using Values = std::vector<double>;

/// A summary of the point.
Source value(const Query& query, std::string_view summary);
/// The operands whose numbers stand for a benchmark: "random" where a lone warp's lone chain was measured
/// with them or nothing with zeros, else "zero".
std::string_view measured_init(const SweepResult& result, std::string_view subject);
/// The largest summary of the points for which `wanted` holds.
Source most(std::string_view summary, std::function<bool(const Point&)> wanted);
/// The same of a benchmark's points with these coordinates, of the whole GPU or of one multiprocessor.
Source most(std::string_view subject, std::string_view summary, Coordinates axes = {},
            std::string_view scope = "gpu");
/// The highest rate of a benchmark on one multiprocessor with so many warps.
Source best_rate(std::string_view subject, int least_warps, int most_warps);

/// True where all points of these coordinates were skipped, and none of them because its code or its rate was
/// refused: this GPU lacks what they need.
bool gpu_lacks(const SweepResult& result, std::string_view subject, const Coordinates& axes);

/// The values; empty when one of them was not measured.
Values numbers(const std::vector<std::optional<double>>& found);
Values numbers(const SweepResult& result, const std::vector<Source>& sources);

/// Where more independent chains stop to pay, with this many warps.
struct Convergence {
  int warps = 0, ilp = 0;
  double cycles = 0, rate = 0;  ///< rate: FMA/clk/SM or B/clk/SM
};
/// The share of the best rate that counts as all of it. Sun et al. print points and no rule: on the timing
/// model's grids this share picks 87 of the 90 points of their Tables III to VII, 97% picks 66.
inline constexpr double kConverged = 0.9;
/// What: the least ILP whose rate reaches that share of the best with as many warps; Sun et al. give the
/// convergence points of 4 and of 8 warps. nullopt when the warps were not swept. The query's warps and ilp
/// do not matter.
std::optional<Convergence> convergence_of(const Points& points, Query query, int warps);
std::optional<Convergence> convergence_of(const SweepResult& result, const Query& query, int warps);

struct Finding {
  std::string statement;
  std::optional<bool> holds;  ///< nullopt: what it needs was not measured
  std::string measured;       ///< the numbers it rests on
  std::string source;         ///< who found it first
  /// Not decided although some of its points were measured: what it takes. Empty: decided, or none was.
  std::string needs = {};
};

/// A statement that a sweep can prove or refute: `judge` sets `holds` and `measured`, or `needs`. Each file
/// NAME.cpp of reports/sweeps/findings/ defines std::vector<Statement> mmaudit::sweeps::statements_NAME().
struct Statement {
  std::string_view text, source;
  std::function<void(const SweepResult& result, Finding& finding)> judge;
};
/// The same in units so many times smaller.
Source scaled(double factor, Source source);
inline Source giga(Source source) { return scaled(1e-9, std::move(source)); }
inline Source tera(Source source) { return scaled(1e-12, std::move(source)); }
/// Judges by the numbers of these sources; undecided where one of them was not measured. `holds` may add
/// numbers. `measured` is a format string for all of them: {0:.1f} is the first.
std::function<void(const SweepResult&, Finding&)> judged(std::vector<Source> sources, bool (*holds)(Values&),
                                                         std::string measured);

/// Every statement, judged by those points of `result` whose results were compared and right.
std::vector<Finding> findings_of(const SweepResult& result);

}  // namespace mmaudit::sweeps
