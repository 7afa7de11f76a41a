#pragma once
// A pipeline as a picture: which instruction waits for what, when its unit has it, when its result is there.
#include <string>

#include "mmaudit/timing/program.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {

/// What: a line per recorded instruction: warp, cycle of issue, cycles waited and why, unit, and a bar on the
/// time axis ('.' could not issue yet, 'I' issue, '=' in its unit, '-' until the result). Lines are at most
/// `columns` characters; the bar is scaled to that.
std::string drawing_text(const Program& program, const Timing& timing, int columns = 110);

/// What: the same as a standalone SVG.
std::string drawing_svg(const Program& program, const Timing& timing);

}  // namespace mmaudit::timing
