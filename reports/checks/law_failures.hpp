#pragma once
// A dot product that broke a law: shown and replayed.
#include <string>

#include "mmaudit/laws/check.hpp"

namespace mmaudit::checks {

/// Hex and values, what was found and what the law allows, and the commands that explain (`where`: its --arch
/// and --model) and replay it.
std::string describe(const laws::Failure& failure, const laws::Law& law, const std::string& where,
                     const std::string& replay);
std::string replay_command(const laws::Failure& failure, const std::string& backend,
                           const Architecture& architecture, const std::string& regressions);
/// Writes FOLDER/<law>-<instruction>.cu, which runs the instruction on the failing dot product and compares;
/// a line that names the file, or says why there is none.
std::string write_repro(const laws::Failure& failure, const std::string& folder);

}  // namespace mmaudit::checks
