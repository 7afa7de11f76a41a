#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "mmaudit/sweeps/sass.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr const char* kPlaces[] = {"cuobjdump", "/usr/local/cuda/bin/cuobjdump"};

}  // namespace

SassBySymbol sass_of_this_program(std::string& why_not) {
  std::array<char, PATH_MAX> path = {};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) < 0) {
    why_not = "the program's own file is not known";
    return {};
  }
  if (std::string_view(path.data()).find('\'') != std::string_view::npos) {
    why_not = "the program's path holds a quote";
    return {};
  }
  for (const char* place : kPlaces) {
    const std::string command = std::string(place) + " -sass '" + path.data() + "' 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    if (!pipe) continue;
    SassReader reader;
    char* text = nullptr;
    std::size_t capacity = 0;
    for (ssize_t read = 0; (read = getline(&text, &capacity, pipe.get())) > 0;)
      reader.line({text, static_cast<std::size_t>(read)});
    std::free(text);
    SassBySymbol found;
    for (SassKernel& kernel : reader.kernels()) found.emplace(kernel.symbol, std::move(kernel));
    if (!found.empty()) return found;
  }
  why_not = "cuobjdump, which reads the code, is not on this machine";
  return {};
}

}  // namespace mmaudit::sweeps
