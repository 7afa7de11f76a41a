#include "common.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <system_error>

#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {

const Architecture& require_architecture(const Context& context, const std::string& name) {
  const Architecture* own = context.own();
  if (own != nullptr && (name.empty() || own->name == name)) return *own;
  if (const Architecture* found = find_architecture(name.empty() ? kDefaultArchitecture : name))
    return *found;
  throw InputError("--arch: " + why_no_architecture(name, own == nullptr ? std::string_view() : own->name));
}

void add_model_option(Command& command) {
  command.option("--model FILE", command.context().model_file,
                 "an architecture from a JSON file, as `mmaudit list --json` prints one");
}

void add_architecture_options(Command& command, std::string& architecture) {
  command.option("--arch ARCH", architecture, "architecture of the model")
      .default_text(kDefaultArchitectureText);
  add_model_option(command);
}

Option add_instruction_option(Command& command, std::string& instruction) {
  return command.option(
      "--inst INST", instruction,
      "instruction, as `mmaudit list` prints it (an open N is 64), PTX, SASS or CUTLASS write it");
}

Option add_filter_option(Command& command, std::vector<std::string>& instructions) {
  return command.option("--inst INST", instructions, "only instructions whose name contains one of these");
}

void add_corpus_option(Command& command, std::string& folder) {
  command.option("--corpus DIR", folder, "folder of recordings (default: the project's own)");
}

Instruction require_instruction(const std::string& name) {
  if (const auto found = read_instruction(name)) return *found;
  throw InputError("--inst: " + why_no_instruction(name));
}

const DatapathEntry& require_datapath(const Architecture& architecture, const Instruction& instruction) {
  if (const DatapathEntry* entry = find_datapath(architecture, instruction)) return *entry;
  throw InputError("--inst: " + why_no_datapath(architecture, instruction));
}

device::DeviceInfo require_device() {
  if (!device::built_with_cuda())
    throw EnvironmentError(
        "this mmaudit was built without CUDA: hardware cannot be reached (build with nvcc on a GPU machine)");
  const std::vector<device::DeviceInfo> found = device::devices();
  if (found.empty()) throw EnvironmentError("no NVIDIA GPU is visible on this machine");
  return found.front();
}

bool on_hardware(const std::string& on) {
  if (on.empty()) return !device::devices().empty();
  if (on != "model" && on != "hardware") refuse("--on: found {}, allowed: model, hardware", on);
  if (on == "hardware") static_cast<void>(require_device());
  return on == "hardware";
}

void add_modifier_options(Command& command, ModifierOptions& modifiers) {
  command.option("--scale-d", modifiers.scale_d, "wgmma, tcgen05: 0 leaves C out").one_of({"0", "1"});
  command.flag("--negate-a", modifiers.negate_a, "wgmma, tcgen05: A negated");
  command.flag("--negate-b", modifiers.negate_b, "wgmma, tcgen05: B negated");
}

std::uint8_t modifier_bits(const Instruction& instruction, const ModifierOptions& modifiers) {
  unsigned bits = 0;
  if (modifiers.scale_d == 0) bits |= kScaleDZero;
  if (modifiers.negate_a) bits |= kNegateA;
  if (modifiers.negate_b) bits |= kNegateB;
  if (bits != 0 && !is_asynchronous(instruction.op))
    refuse("--scale-d, --negate-a, --negate-b: found with {}, allowed: with wgmma and tcgen05 only",
           name_of(instruction));
  return static_cast<std::uint8_t>(bits);
}

std::filesystem::path corpus_folder(const std::string& given) {
  namespace fs = std::filesystem;
  if (!given.empty()) return given;
  if (const char* variable = std::getenv("MMAUDIT_CORPUS"); variable != nullptr && *variable != '\0')
    return variable;
  fs::path here = fs::path("corpus") / "data";
  if (fs::is_directory(here)) return here;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (; !error && folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::is_directory(folder / here)) return folder / here;
    if (fs::is_directory(folder / "share" / "mmaudit" / here)) return folder / "share" / "mmaudit" / here;
  }
  refuse("--corpus: found no recordings near this program, allowed: a folder of *.safetensors recordings");
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items(1);
  for (const char c : text)
    if (c == ',')
      items.emplace_back();
    else
      items.back() += c;
  for (std::string& item : items) {
    item.erase(0, std::min(item.find_first_not_of(' '), item.size()));
    item.erase(item.find_last_not_of(' ') + 1);
  }
  return items;
}

void name_program(Provenance& provenance) {
  provenance.version = kVersion;
  provenance.revision = kGitRevision;
  provenance.date = today();
}

std::string own_version() { return fmt::format("mmaudit {} ({})", kVersion, kGitRevision); }

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

std::string made_printable(std::string_view text, bool colour) {
  if (!colour) return made_visible(text);
  std::string shown;
  while (!text.empty()) {
    std::size_t end = text.size();
    std::string_view next;
    for (const std::string_view code :
         {"\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"})  // of report::rendered() and help_text()
      if (const std::size_t at = text.find(code); at < end) end = at, next = code;
    shown.append(made_visible(text.substr(0, end))).append(next);
    text.remove_prefix(end + next.size());
  }
  return shown;
}

namespace {

bool wants_colors() {
  const char* refused = std::getenv("NO_COLOR");  // https://no-color.org
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::string& color_choice() {
  static std::string choice = "auto";
  return choice;
}

}  // namespace

void choose_colors(const std::string& when) { color_choice() = when; }

bool colors() { return color_choice() == "auto" ? wants_colors() : color_choice() == "always"; }

void print(std::string_view text) {
  Progress::hide();
  const std::string shown = made_printable(text, colors());
  errno = 0;
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() || std::fflush(stdout) != 0)
    throw EnvironmentError(
        fmt::format("standard output: cannot write: {}", std::generic_category().message(errno)));
}

void emit(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    print(text);
    return;
  }
  corpus::write_file_atomically(path, std::string_view(text));
}

namespace {

bool same_file(const std::string& x, const std::string& y) {
  std::error_code error;  // of equivalent(): one of them does not exist
  const auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return std::filesystem::equivalent(x, y, error) || whole(x) == whole(y);
}

bool is_printed(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

bool is_file(const std::string& path) { return !path.empty() && path != "-"; }

}  // namespace

void try_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  const NamedFile* printed = nullptr;
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    if (is_printed(one->path) && printed != nullptr)
      refuse("{}: found {} with {} {}, allowed: one of them on standard output", one->option, one->path,
             printed->option, printed->path);
    if (is_printed(one->path)) printed = &*one;
    if (!is_file(one->path)) continue;
    const auto refuse_if_same = [&](const NamedFile& other) {
      if (is_file(other.path) && same_file(one->path, corpus::file_of(other.path)))
        refuse("{}: found the file of {}, allowed: a file of its own", one->option, other.option);
    };
    std::for_each(inputs.begin(), inputs.end(), refuse_if_same);
    std::for_each(outputs.begin(), one, refuse_if_same);
    corpus::require_writable(one->path);
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw InputError(fmt::format("{}: cannot create: {}", path, error.message()));
}

}  // namespace mmaudit::cli
