#pragma once
// A convolution by every schedule of loads, against the reference.
#include <string>
#include <vector>

#include "mmaudit/convolution/convolve.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// One schedule compared with the reference.
struct ScheduleOutcome {
  std::string name, what;
  conv::Counts counts;
  std::uint64_t wrong = 0;  ///< outputs
  bool right = true;        ///< false: a mistake on purpose, which fails nothing
};

struct Schedules {
  std::vector<std::uint64_t> reference;  ///< D's raw bits
  std::vector<ScheduleOutcome> outcomes;
  std::string left_out;   ///< why tensor memory does not run it; empty: it does
  bool compared = false;  ///< an output is a finite number other than 0: any order of sums gives the others
};
/// What: runs them all by the model, im2col also on `gpu` unless it is null, tiles of `lanes` outputs.
Schedules compare_schedules(const conv::Problem& problem, int lanes, const Backend* gpu);

/// The lanes of the tile from output position `first` on, at every place of filter row `row`, as "shift" has
/// them. Errors: InputError beyond the shape, with the options --table and --filter-row.
report::Section lanes_of(const conv::Shape& shape, int first, int row, int lanes);

/// Passed where every schedule that is no mistake gives the reference, and that says something. `by`: what
/// computed it, in words.
report::Report report_of(const Schedules& found, const conv::Shape& shape, const std::string& by);

}  // namespace mmaudit::checks
