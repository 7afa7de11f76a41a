#include "common.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::cli {

const Architecture& require_architecture(const Context& context, const std::string& name) {
  const Architecture* own = context.own();
  if (own != nullptr && (name.empty() || own->name == name)) return *own;
  if (const Architecture* found = find_architecture(name.empty() ? "hopper" : name)) return *found;
  throw InputError("--arch: " + why_no_architecture(name, own == nullptr ? std::string_view() : own->name));
}

void add_model_option(Command& command) {
  command.option("--model", command.context().model_file,
                 "an architecture from a JSON file, as `mmaudit list --json` prints one");
}

Instruction require_instruction(const std::string& name) {
  if (const auto found = find_instruction(name)) return *found;
  throw InputError("--inst: " + why_no_instruction(name));
}

const DatapathEntry& require_datapath(const Architecture& architecture, const Instruction& instruction) {
  if (const DatapathEntry* entry = find_datapath(architecture, instruction)) return *entry;
  throw InputError("--inst: " + why_no_datapath(architecture, instruction));
}

device::DeviceInfo require_device() {
  if (!device::built_with_cuda()) {
    throw EnvironmentError(
        "this mmaudit was built without CUDA: hardware cannot be reached (build with nvcc on a GPU machine)");
  }
  const std::vector<device::DeviceInfo> found = device::devices();
  if (found.empty()) throw EnvironmentError("no NVIDIA GPU is visible on this machine");
  return found.front();
}

bool on_hardware(const std::string& on) {
  if (on.empty()) return !device::devices().empty();
  if (on != "model" && on != "hardware")
    throw InputError(fmt::format("--on: found {}, allowed: model, hardware", on));
  if (on == "hardware") static_cast<void>(require_device());
  return on == "hardware";
}

std::uint8_t modifier_bits(const Instruction& instruction, int scale_d, bool negate_a, bool negate_b) {
  unsigned bits = 0;
  if (scale_d == 0) bits |= kScaleDZero;
  if (negate_a) bits |= kNegateA;
  if (negate_b) bits |= kNegateB;
  if (bits != 0 && !is_wgmma(instruction.op) && instruction.op != Op::tcgen05) {
    throw InputError(
        fmt::format("--scale-d, --negate-a, --negate-b: found with {}, allowed with wgmma and tcgen05 only",
                    name_of(instruction)));
  }
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
  throw InputError(
      "--corpus: found no recordings near this program, allowed: a folder of *.safetensors recordings");
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: cannot read", path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

void emit(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  corpus::write_file_atomically(path, std::string_view(text));
}

}  // namespace mmaudit::cli
