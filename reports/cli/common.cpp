#include "common.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/refusal.hpp"
#include "row_json.hpp"

namespace mmaudit::cli {

bool Progress::silent = false;

const Architecture& require_architecture(const std::string& name) {
  const Architecture* own = user_model();
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

const DatapathEntry& require_row(const Architecture& architecture, const Instruction& instruction) {
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

bool selected(std::string_view name, const std::vector<std::string>& parts) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
           return part == "all" || name.find(part) != std::string_view::npos;
         });
}

std::vector<Instruction> all_instructions(int wgmma_n) {
  std::vector<Instruction> rows;
  for (Instruction inst : kInstructions) {
    inst = with_shape(inst, wgmma_n);
    if (has_shape(inst, inst.m, inst.n)) rows.push_back(inst);
  }
  return rows;
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

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      shown_(start_) {}

Progress::~Progress() {
  if (!silent && terminal_ && done_ > 0) std::fputs("\r\033[K", stderr);
}

void Progress::advance(std::uint64_t steps, const std::string& label) {
  done_ += steps;
  const auto now = std::chrono::steady_clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  if (silent || (now - shown_ < pause && !(terminal_ && done_ == total_))) return;
  shown_ = now;
  draw(label, done_ == total_);
}

void Progress::draw(const std::string& label, bool last) {
  const double share = total_ == 0 ? 1 : static_cast<double>(done_) / static_cast<double>(total_);
  const double elapsed = std::chrono::duration<double>(shown_ - start_).count();
  const double left = share > 0 ? elapsed / share - elapsed : 0;
  const std::string status = fmt::format("{} {:3.0f}%  {:.0f} s left  {}", what_, 100 * share, left, label);
  if (!terminal_) {
    std::fputs((status + "\n").c_str(), stderr);
    return;
  }
  const auto filled = static_cast<std::size_t>(24 * std::min(share, 1.0));
  std::fputs(fmt::format("\r\033[K[{}{}] {}", std::string(filled, '#'), std::string(24 - filled, '.'), status)
                 .c_str(),
             stderr);
  if (last) std::fflush(stderr);
}

void emit(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  corpus::write_file_atomically(path, std::string_view(text));
}

}  // namespace mmaudit::cli
