#pragma once
// Recordings: what a GPU answers to seeded inputs, one file per instruction.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/provenance.hpp"
#include "mmaudit/report/report.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// What is recorded of every instruction.
struct RecordQuestion {
  std::string folder = "recordings";
  Provenance provenance = {};                  ///< written into every file, with the seed of the generators
  std::size_t mma_tiles = 2, wgmma_tiles = 1;  ///< per input class
  std::string form = std::string(device::kPlainForm);  ///< of tcgen05
  bool directed = true;                                ///< directed cases and modifier tiles too
};

struct RecordedInstruction {
  std::string name, file;  ///< no file: not recorded
  std::uint64_t dots = 0;
  std::string why_not = {};
};

struct RecordReport {
  RecordQuestion question;
  std::vector<RecordedInstruction> instructions;

  [[nodiscard]] std::size_t recorded() const;
};

/// Runs every instruction on the GPU and writes a file each. Errors: EnvironmentError of the GPU or the disk.
RecordReport record_instructions(const device::DeviceInfo& gpu, const std::vector<Instruction>& instructions,
                                 const RecordQuestion& question, Progress& progress);

/// Bad where nothing was recorded.
report::Report report_of(const RecordReport& recorded);

}  // namespace mmaudit::checks
