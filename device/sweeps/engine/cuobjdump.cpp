// The timed kernels of a program, read by cuobjdump. Most of the program's code is not timed, and
// disassembling all of it takes half a minute: the program is cut into its cubins first, and only those with
// timed kernels are disassembled.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "mmaudit/printable.hpp"
#include "mmaudit/scratch_folder.hpp"
#include "mmaudit/sweeps/sass.hpp"

namespace mmaudit::sweeps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlaces[] = {"cuobjdump", "/usr/local/cuda/bin/cuobjdump"};

std::string quoted(const fs::path& path) { return in_shell_quotes(path.string()); }

/// Calls `take` with every line that a command prints.
template <typename Take>
void for_each_line(const std::string& command, Take&& take) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  if (!pipe) return;
  char* text = nullptr;
  std::size_t capacity = 0;
  for (ssize_t read = 0; (read = getline(&text, &capacity, pipe.get())) > 0;)
    take(std::string_view(text, static_cast<std::size_t>(read)));
  std::free(text);
}

/// Whether a cubin holds one of the kernels.
bool holds_any(const std::string& cuobjdump, const fs::path& cubin, const std::set<std::string>& wanted) {
  bool any = false;
  for_each_line(cuobjdump + " -symbols " + quoted(cubin), [&](std::string_view line) {
    const std::size_t last = line.find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos) return;
    line = line.substr(0, last + 1);
    const std::string symbol = timed_symbol(std::string(line.substr(line.find_last_of(" \t") + 1)));
    any = any || (!symbol.empty() && (wanted.empty() || wanted.contains(symbol)));
  });
  return any;
}

}  // namespace

std::vector<SassKernel> sass_of(const std::string& cuobjdump, const fs::path& program,
                                const std::set<std::string>& wanted) {
  SassReader reader;
  const auto disassemble = [&](const fs::path& file) {
    for_each_line(cuobjdump + " -sass " + quoted(file), [&](std::string_view line) { reader.line(line); });
  };
  const ScratchFolder folder;
  bool cut = false;
  if (!folder.path().empty()) {
    for_each_line("cd " + quoted(folder.path()) + " && " + cuobjdump + " -xelf all " + quoted(program),
                  [](std::string_view) {});
    std::error_code error;
    std::vector<fs::path> cubins;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.path(), error))
      cubins.push_back(entry.path());
    std::sort(cubins.begin(), cubins.end());
    cut = !cubins.empty();
    for (const fs::path& cubin : cubins)
      if (holds_any(cuobjdump, cubin, wanted)) disassemble(cubin);
  }
  if (!cut) disassemble(program);
  return reader.kernels();
}

SassBySymbol sass_of_this_program(const std::set<std::string>& wanted, int compute_capability,
                                  std::string& why_not) {
  std::array<char, PATH_MAX> path = {};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) < 0) {
    why_not = "the program's own file is not known";
    return {};
  }
  if (std::string_view(path.data()).find('\'') != std::string_view::npos) {
    why_not = "the program's path holds a quote";
    return {};
  }
  for (const char* place : kPlaces)
    if (std::vector<SassKernel> found = sass_of(place, path.data(), wanted); !found.empty()) {
      SassBySymbol code = code_of_gpu(std::move(found), compute_capability);
      if (code.empty())
        why_not = "the program has no machine code for this GPU, only PTX that the driver compiles";
      return code;
    }
  why_not = "cuobjdump, which reads the code, is not on this machine";
  return {};
}

}  // namespace mmaudit::sweeps
