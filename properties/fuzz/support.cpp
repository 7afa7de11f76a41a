#include "support.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace mmaudit::fuzz {

void fail(const std::string& why) {
  std::fprintf(stderr, "found: %s\n", why.c_str());
  std::abort();
}

void check_one_line(std::string_view text) {
  static const bool shown = std::getenv("MMAUDIT_REFUSALS") != nullptr;
  if (shown) std::fprintf(stderr, "refused: %.*s\n", static_cast<int>(text.size()), text.data());
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F)
      fail("a refusal with control characters: " + std::string(text));
}

ScratchFile::ScratchFile(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path memory = "/dev/shm";
  std::string folder =
      ((fs::exists(memory) ? memory : fs::temp_directory_path()) / "mmaudit-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) fail("no folder " + folder);
  path_ = fs::path(folder) / name;
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0) fail("no file " + path_.string());
}

ScratchFile::~ScratchFile() {
  ::close(fd_);
  std::error_code ignored;
  std::filesystem::remove_all(path_.parent_path(), ignored);
}

const std::filesystem::path& ScratchFile::holding(std::span<const std::uint8_t> bytes) {
  if (::ftruncate(fd_, 0) != 0) fail("no way to empty " + path_.string());
  const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), 0);
  if (written < 0 || static_cast<std::size_t>(written) != bytes.size()) fail("no room in " + path_.string());
  return path_;
}

const std::filesystem::path& ScratchFile::holding(std::string_view text) {
  return holding(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace mmaudit::fuzz
