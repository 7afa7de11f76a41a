#pragma once
// What the subcommands share: look-ups with one-line refusals, progress, exit codes.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "context.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/model/architecture.hpp"
#include "options.hpp"

namespace mmaudit::cli {

inline constexpr int kAllGood = 0, kMismatch = 1, kBadInput = 2, kEnvironment = 3;  ///< exit codes

/// A built-in architecture or that of --model; an empty name is --model's, else hopper. InputError otherwise.
const Architecture& require_architecture(const std::string& name);
inline constexpr const char* kDefaultArchitecture = "hopper, or that of --model";
/// --model file.json: an architecture of the user beside the built-in ones.
void add_model_option(Command& command);
Instruction require_instruction(const std::string& name);
/// The row that computes `instruction`; InputError says what the architecture has instead.
const DatapathEntry& require_row(const Architecture& architecture, const Instruction& instruction);
/// The first GPU; EnvironmentError when there is none or the build has no device code.
device::DeviceInfo require_device();
/// --on: whether the GPU computes. "model": no; "hardware": yes, EnvironmentError where there is none; empty:
/// where there is one. InputError for anything else.
bool on_hardware(const std::string& on);

/// True when `name` contains one of `parts`, when one of them is "all", and when there are none.
bool selected(std::string_view name, const std::vector<std::string>& parts);

/// Table rows with every wgmma and tcgen05 row at the given n; rows that lack this n are left out.
std::vector<Instruction> all_instructions(int wgmma_n);

/// --scale-d, --negate-a and --negate-b as modifier bits; InputError unless `instruction` is a wgmma or
/// tcgen05.
std::uint8_t modifier_bits(const Instruction& instruction, int scale_d, bool negate_a, bool negate_b);

/// --corpus, else $MMAUDIT_CORPUS, else corpus/data here or above the executable; InputError when none
/// exists.
std::filesystem::path corpus_folder(const std::string& given);

/// All of a file; InputError when it can't be read.
std::string text_of_file(const std::string& path);

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
  static void silence() { silent = true; }

 private:
  void draw(const std::string& label, bool last);

  std::string what_;
  std::uint64_t total_, done_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, shown_;
  static bool silent;
};

/// Prints `text` to standard output, or writes it to `path` whole unless path is "-" or empty.
void emit(const std::string& path, const std::string& text);

/// The whole program: parses, runs, and turns every error into one line on standard error and an exit code.
int program(int argc, const char* const* argv);

void add_list(Command& app);
void add_tiles(Command& app);  // emulate, run, compare
void add_verify(Command& app);
void add_explain(Command& app);
void add_record(Command& app);
void add_audit(Command& app);
void add_baseline(Command& app);
void add_diff(Command& app);
void add_convert(Command& app);
void add_layout(Command& app);
void add_matmul(Command& app);
void add_sweep(Command& app);
void add_laws(Command& app);
void add_campaign(Command& app);

}  // namespace mmaudit::cli
