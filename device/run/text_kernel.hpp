#pragma once
// A kernel that comes as PTX text while the program runs: the driver translates it for its GPU. The driver's
// functions are found at run time, as every library of a GPU is.
#include <cstdint>
#include <span>
#include <string>

namespace mmaudit::device {

class TextKernel {
 public:
  /// Loads entry `name` of `text` for the current device. Errors: EnvironmentError with what the driver
  /// logged.
  TextKernel(const std::string& text, const char* name);
  ~TextKernel();
  TextKernel(const TextKernel&) = delete;
  TextKernel& operator=(const TextKernel&) = delete;

  /// Starts `blocks` blocks of `threads` threads with parameters of 64 bits each; does not wait.
  void launch(unsigned blocks, unsigned threads, std::span<const std::uint64_t> parameters) const;

 private:
  void* module_ = nullptr;
  void* function_ = nullptr;
};

}  // namespace mmaudit::device
