#pragma once
// What the subcommands share: look-ups with one-line refusals, progress, exit codes.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/architecture.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::cli {

enum ExitCode : int { kAllGood = 0, kMismatch = 1, kBadInput = 2, kEnvironment = 3 };

/// What main() runs after parsing; a subcommand sets it when it was chosen.
using Action = std::function<int()>;

const Architecture& require_architecture(const std::string& name);
Instruction require_instruction(const std::string& name);
/// The row that computes `instruction`; InputError says what the architecture has instead.
const DatapathRow& require_row(const Architecture& architecture, const Instruction& instruction);
/// The architecture of a compute capability, null when there is no row for it.
const Architecture* architecture_of(int compute_capability);
/// The first GPU; EnvironmentError when there is none or the build has no device code.
device::DeviceInfo require_device();

/// Table rows with every wgmma row at the given n; rows that lack this n are left out.
std::vector<Instruction> all_instructions(int wgmma_n);

/// --scale-d, --negate-a and --negate-b as modifier bits; InputError unless `instruction` is a wgmma.
std::uint8_t modifier_bits(const Instruction& instruction, int scale_d, bool negate_a, bool negate_b);

/// --corpus, else $MMAUDIT_CORPUS, else corpus/data here or above the executable; InputError when none
/// exists.
std::filesystem::path corpus_folder(const std::string& given);

/// Today as YYYY-MM-DD, UTC.
std::string today();

/// One line on a terminal that is redrawn; on anything else a line now and then. Nothing with --quiet.
class Progress {
 public:
  Progress(std::string what, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void advance(std::uint64_t steps, const std::string& label = {});
  static void silence() { silent_ = true; }

 private:
  void draw(const std::string& label, bool last);

  std::string what_;
  std::uint64_t total_, done_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, shown_;
  static bool silent_;
};

/// Prints `text` to standard output, or writes it to `path` whole unless path is "-" or empty.
void emit(const std::string& path, const std::string& text);

void add_list(CLI::App& app, Action& action);
void add_tiles(CLI::App& app, Action& action);  // emulate, run, compare
void add_verify(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_record(CLI::App& app, Action& action);
void add_audit(CLI::App& app, Action& action);

}  // namespace mmaudit::cli
