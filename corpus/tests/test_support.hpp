#pragma once
// Scratch folders, bytes of files, and what a refusal must look like.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::corpus::test {

using Shape = std::vector<std::uint64_t>;

/// A new folder, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Names in the folder, sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

/// Plain writing, without the fsync of the code under test: some tests write thousands of files.
void put(const std::filesystem::path& path, std::string_view bytes);
std::string get(const std::filesystem::path& path);
std::string from_hex(std::string_view hex);

/// Length field, header as it is, data.
std::string safetensors_bytes(std::string_view header, std::string_view data = {});

/// Two tiles of m2 n3 k4, u8 inputs and u32 results, two families.
Recording small_recording();

/// The message of the InputError that `action` throws, checked to be one line; a test failure if it throws
/// none.
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const InputError& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find_first_of("\n\r\x1b"), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

template <class Action>
void expect_refused(Action&& action, std::string_view part_of_message) {
  const std::string message = refusal(action);
  EXPECT_NE(message.find(part_of_message), std::string::npos)
      << "'" << message << "' lacks '" << part_of_message << "'";
}

}  // namespace mmaudit::corpus::test
