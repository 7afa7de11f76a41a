#pragma once
// Verification as a value: what was compared and what differed. Printed by `verify`, embedded by `audit`.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/comparison.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/report/report.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// The instruction a recording names; InputError when it names none or its shapes do not fit it.
Instruction instruction_of(const corpus::Recording& recording, const std::string& file);

/// The recorded operands, with the recorded D. The view does not write.
TileView view_of(const corpus::Recording& recording);

/// Runs the model over the recorded operands and compares D.
Comparison replay(const corpus::Recording& recording, const Instruction& instruction,
                  const Datapath& datapath, std::size_t most_examples = kMostExamples);

/// The architecture of the recording's own GPU; InputError when the model has none.
const Architecture& architecture_of_recording(const corpus::Recording& recording, const std::string& file);

/// The datapath of the recording's own GPU; InputError when there is none.
const DatapathEntry& datapath_of_recording(const corpus::Recording& recording, const Instruction& instruction,
                                           const std::string& file);

/// Whose results these are: "NVIDIA H200 (driver 580.159.04)".
std::string gpu_of(const corpus::Recording& recording);

/// What a filter of recordings may be.
inline constexpr std::string_view kRecordedPart = "part of a recorded instruction's name";

/// Calls `use` with every recording under `folder` whose instruction name is selected() by `filters`, and
/// with its file.
void for_each_recording(
    const std::filesystem::path& folder, const std::vector<std::string>& filters, Progress& progress,
    const std::function<void(const corpus::Recording&, const Instruction&, const std::string&)>& use);

struct VerifiedInstruction : Comparison {
  std::string source = {};    ///< file, or the device
  std::string evidence = {};  ///< of the datapath that was tested
};

struct VerifyReport {
  std::string against;  ///< "recordings in ...", "NVIDIA H200 (driver ...), seed 1"
  std::vector<VerifiedInstruction> instructions;

  [[nodiscard]] std::uint64_t dots() const { return sum_of(instructions, &Comparison::dots); }
  [[nodiscard]] std::uint64_t mismatches() const { return sum_of(instructions, &Comparison::mismatches); }
};

enum class VerifyColumns : std::uint8_t {
  instructions,  ///< one line per instruction, and per input class that differs
  families,      ///< and per input class
  files          ///< one line per result file of a data set
};
/// `verified` has to outlive the report.
report::Report report_of(const VerifyReport& verified, VerifyColumns columns = VerifyColumns::instructions);

/// Replays every recording under `folder` whose instruction name contains one of `filters` (empty: all).
/// With `only`, the recordings of that architecture and no others; none of them gives an empty report.
/// With `instead`, through its datapaths in place of the GPU's own, as far as it has them.
VerifyReport verify_corpus(const std::filesystem::path& folder, const std::vector<std::string>& filters,
                           Progress& progress, const Architecture* only = nullptr,
                           const Architecture* instead = nullptr);

/// Every result file of a public data set on disk whose instruction's name contains one of `filters` (empty:
/// all), each through the datapath of the GPU its folder names. The source of a result is its file.
/// InputError for files that are not the data set's, and for a GPU or an instruction that the model does not
/// have. With `instead`, through its datapaths in place of the GPU's own, as far as it has them.
VerifyReport verify_dataset(const std::filesystem::path& folder, const std::vector<std::string>& filters,
                            Progress& progress, const Architecture* instead = nullptr);

/// Fresh inputs on the GPU, at least `dots` dot products per instruction.
VerifyReport verify_live(const device::DeviceInfo& gpu, const std::vector<std::string>& filters,
                         std::uint64_t dots, std::uint64_t seed, bool every_n, Progress& progress);

}  // namespace mmaudit::checks
