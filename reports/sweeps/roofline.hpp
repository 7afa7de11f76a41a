#pragma once
// Where a kernel stops being bound by bytes.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/report/report.hpp"
#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

/// The best rate of one kind that a sweep measured on the whole GPU, and where.
struct Ceiling {
  Format type = Format::none;               ///< of A; none: a rate of reads
  bool sparse = false;                      ///< k counts in full, zeros of A included
  double rate = 0;                          ///< FLOP/s, or bytes/s
  std::optional<double> clock = {};         ///< Hz held in that run
  std::optional<double> share = {};         ///< of the unit's peak at that clock
  std::string subject = {}, operands = {};  ///< benchmark; "zero" or "random"
  std::string swept = {};                   ///< date and revision of the sweep
};

struct Ceilings {
  std::optional<Ceiling> memory, second_level;  ///< reads
  std::vector<Ceiling> types;                   ///< dense ones first, of each kind the fastest first
};

/// What: the best rates of a sweep and of others of the same GPU: of reads from memory and from the
/// second-level cache, and of matrix instructions per type of A. Points whose result was wrong do not count.
Ceilings ceilings_of(const SweepResult& result, std::span<const SweepResult> others = {});

/// Errors: InputError("<label>: ...") for a sweep of another GPU than `result`, and for one without any
/// ceiling. `label`: the file of `other`.
void require_ceilings(const SweepResult& result, const SweepResult& other, const std::string& label);

/// What: per type of A the best rate, and the FLOP per byte at which it meets the reads of memory and of the
/// second-level cache. No rows where no read was measured.
report::Table roofline_table(const Ceilings& ceilings);

/// What: those reads as slopes and the dense types as roofs; of the types those whose peak is documented,
/// where any is. Empty where no read or no type was measured.
std::string roofline_figure(const Ceilings& ceilings);

/// Both. No content where nothing was measured.
report::Section roofline_section(const SweepResult& result, std::span<const SweepResult> others = {});

}  // namespace mmaudit::sweeps
