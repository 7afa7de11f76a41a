#pragma once
// What the commands share: look-ups with one-line refusals, exit codes.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "choice.hpp"
#include "context.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/model/architecture.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace mmaudit::checks {}

namespace mmaudit::cli {

using corpus::text_of_file;
using namespace checks;  // NOLINT(google-build-using-namespace): what commands call is there

inline constexpr int kAllGood = 0, kMismatch = 1, kBadInput = 2, kEnvironment = 3;  ///< exit codes

/// A built-in architecture or the one of --model; an empty name is --model's, else hopper. InputError
/// otherwise.
const Architecture& require_architecture(const Context& context, const std::string& name);
inline constexpr const char* kDefaultArchitectureText = "hopper, or the architecture of --model";

/// --model file.json: an architecture of the user beside the built-in ones.
void add_model_option(Command& command);
/// --arch and --model.
void add_architecture_options(Command& command, std::string& architecture);
/// --inst with one name.
Option add_instruction_option(Command& command, std::string& instruction);
/// --inst with parts of names; empty: every instruction.
Option add_filter_option(Command& command, std::vector<std::string>& instructions);
/// --corpus; corpus_folder() reads it.
void add_corpus_option(Command& command, std::string& folder);

/// --scale-d, --negate-a and --negate-b.
struct ModifierOptions {
  int scale_d = 1;
  bool negate_a = false, negate_b = false;
};
void add_modifier_options(Command& command, ModifierOptions& modifiers);
/// As modifier bits; InputError unless `instruction` is a wgmma or tcgen05.
std::uint8_t modifier_bits(const Instruction& instruction, const ModifierOptions& modifiers);

Instruction require_instruction(const std::string& name);
/// The datapath that computes `instruction`; InputError says what the architecture has instead.
const DatapathEntry& require_datapath(const Architecture& architecture, const Instruction& instruction);
/// The first GPU; EnvironmentError when there is none or the build has no device code.
device::DeviceInfo require_device();
/// --on: whether the GPU computes. "model": no; "hardware": yes, EnvironmentError where there is none; empty:
/// where there is one. InputError for anything else.
bool on_hardware(const std::string& on);

/// --corpus, else $MMAUDIT_CORPUS, else corpus/data here or above the executable; InputError when none
/// exists.
std::filesystem::path corpus_folder(const std::string& given);

inline constexpr const char* kExitCodes =
    "Exit codes: 0 all good, 1 a mismatch or something did not pass, 2 usage or bad input, 3 environment (no "
    "GPU, no "
    "driver), 130 interrupted.";

/// --color: "auto" (a terminal that is not dumb, unless NO_COLOR is set), "always" or "never", for all that
/// print() prints from here on.
void choose_colors(const std::string& when);
/// Whether print() lets the colours of report::rendered() and help_text() through.
bool colors();

/// The items between commas, without spaces around them; one empty item for empty text.
std::vector<std::string> split_list(std::string_view text);

/// What --version prints.
std::string own_version();
/// Today as YYYY-MM-DD, UTC.
std::string today();
/// Writes this program's version and revision and today() into the provenance of a result.
void name_program(Provenance& provenance);

/// Hidden characters made visible, but for the colours of reports where `colour` lets them through.
std::string made_printable(std::string_view text, bool colour);
/// Prints to standard output, hidden characters made visible, and flushes: what reads it must not get less
/// than was written. Errors: EnvironmentError. Everything that the program prints goes through here.
void print(std::string_view text);
/// print(), or writes `text` to `path` whole unless path is "-" or empty.
void emit(const std::string& path, const std::string& text);
/// A file that a command reads or writes, and the option or argument that names it.
struct NamedFile {
  std::string option, path;
};
/// Before the work: InputError when an output can't be written, is another one, or is an input, or when two
/// are "-", standard output. An empty path passes; an input may name a tensor of its file.
void try_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);
/// Creates the folder and those above it; InputError when that fails.
void make_folder(const std::string& path);

// A command, and those inside it.
void add_attention(Command& app);
void add_collective(Command& app);
void add_audit(Command& app);
void add_explain(Command& app);
void add_layout(Command& explain);
void add_list(Command& app);
void add_convert(Command& app);
void add_pack(Command& convert);
void add_probe(Command& app);
void add_matmul(Command& app);
void add_model(Command& app);
void add_gemm(Command& app);
void add_trace(Command& app);
void add_gemm_check(Command& gemm);
void add_gemm_decisions(Command& gemm);
void add_gemm_invariant(Command& gemm);
void add_gemm_reveal(Command& gemm);
void add_tcgen05(Command& app);
void add_convolution(Command& tcgen05);
void add_verify(Command& app);
void add_laws(Command& verify);
void add_campaign(Command& verify);
void add_baseline(Command& app);
void add_record(Command& baseline);
void add_doctor(Command& app);

}  // namespace mmaudit::cli
