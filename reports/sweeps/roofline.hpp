#pragma once
// Where a kernel stops being bound by bytes.
#include "mmaudit/report/table.hpp"
#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

/// What: for each type of A the best measured rate of dense matrix instructions on the whole GPU, and the
/// FLOP per byte at which it meets the best measured rate of reads from memory and from the second-level
/// cache. No rows where no such read was measured.
report::Table roofline_table(const SweepResult& result);

}  // namespace mmaudit::sweeps
