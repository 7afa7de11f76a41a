#pragma once
// What the commands share: look-ups with one-line refusals, exit codes.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "choice.hpp"
#include "context.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/model/architecture.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace mmaudit::checks {}

namespace mmaudit::cli {

using namespace checks;  // NOLINT(google-build-using-namespace): what commands call is there

inline constexpr int kAllGood = 0, kMismatch = 1, kBadInput = 2, kEnvironment = 3;  ///< exit codes

/// A built-in architecture or that of --model; an empty name is --model's, else hopper. InputError otherwise.
const Architecture& require_architecture(const Context& context, const std::string& name);
inline constexpr const char* kDefaultArchitecture = "hopper, or that of --model";
/// --model file.json: an architecture of the user beside the built-in ones.
void add_model_option(Command& command);
Instruction require_instruction(const std::string& name);
/// The datapath that computes `instruction`; InputError says what the architecture has instead.
const DatapathEntry& require_datapath(const Architecture& architecture, const Instruction& instruction);
/// The first GPU; EnvironmentError when there is none or the build has no device code.
device::DeviceInfo require_device();
/// --on: whether the GPU computes. "model": no; "hardware": yes, EnvironmentError where there is none; empty:
/// where there is one. InputError for anything else.
bool on_hardware(const std::string& on);

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
