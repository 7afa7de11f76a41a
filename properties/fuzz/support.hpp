#pragma once
// What the fuzzers share: input taken apart, bytes as a file, refusals checked, and how a finding ends.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "mmaudit/error.hpp"

namespace mmaudit::fuzz {

/// Says why and aborts: what libFuzzer and the replay both take for a crash.
[[noreturn]] void fail(const std::string& why);

/// fail() unless `text` is one line: no control characters. Prints the refusal where the environment has
/// MMAUDIT_REFUSALS, for those who write seeds.
void check_one_line(std::string_view text);

/// Runs `read`; true when it went through, false when it refused with an InputError of one line. Anything
/// else that leaves it ends the program.
template <typename Read>
bool accepted(Read&& read) {
  try {
    read();
    return true;
  } catch (const InputError& refusal) {
    check_one_line(refusal.what());
    return false;
  }
}

/// A file of the given name in a folder of this process, kept in memory where there is /dev/shm. Both go with
/// it.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// The file with this content.
  const std::filesystem::path& holding(std::span<const std::uint8_t> bytes);
  const std::filesystem::path& holding(std::string_view text);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

/// The input, front to back; zeros after its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  std::uint64_t word(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  [[nodiscard]] std::span<const std::uint8_t> rest() const { return rest_; }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
  }

 private:
  std::span<const std::uint8_t> rest_;
};

/// What each fuzzer defines: one input, tried. libFuzzer or the replay calls it.
void run(Bytes bytes);

}  // namespace mmaudit::fuzz
