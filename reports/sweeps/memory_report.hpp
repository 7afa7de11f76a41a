#pragma once
// The part of a sweep's report on memory: the machine as a picture, then what the points show of each level.
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/report/report.hpp"
#include "mmaudit/sweeps/point.hpp"
#include "sweeps/memory_levels.hpp"

namespace mmaudit::sweeps {

/// One level of the machine: the numbers of its box.
struct MachineLevel {
  std::string name;
  std::optional<double> cycles = {}, bytes_per_clock = {},
                        bytes_per_second = {};              ///< bytes per clock per multiprocessor
  std::string note = {};                                    ///< in place of cycles that have no one number
  std::string published_cycles = {}, published_bytes = {};  ///< every GPU
};

/// What: every level that the sweep measured, the nearest first.
std::vector<MachineLevel> machine_levels(const SweepResult& result);

/// Sections without content where nothing of memory was measured.
std::vector<report::Section> memory_sections(const SweepResult& result);

// Figures, empty where there is nothing to draw.
std::string machine_figure(const std::vector<MachineLevel>& levels);
std::string loads_figure(const SweepResult& result, bool resident);
std::vector<std::string> partition_figures(const std::vector<PartitionMap>& maps);
std::string placement_figure(const SweepResult& result);

}  // namespace mmaudit::sweeps
