#pragma once
// Figures of a family of benchmarks on one multiprocessor.
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/point_groups.hpp"

namespace mmaudit::sweeps {

/// The axes of a grid of warps and chains.
inline constexpr std::string_view kGridAxes[] = {"scope", "warps", "ilp"};
/// True when the benchmarks have independent chains, the axis "ilp".
bool has_chains(const Points& points);
int least_warps(const Points& points);

/// Markup: with chains a heat map per benchmark, else curves of cycles.
std::vector<std::string> figures_of(std::string_view family, const Points& points);

}  // namespace mmaudit::sweeps
