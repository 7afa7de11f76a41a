#pragma once
// Output files appear whole or not at all. Every writer of the project goes through here.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace mmaudit::corpus {

/// A file written piece by piece under a temporary name in the folder of `path`; commit() moves it to `path`.
/// Without commit() nothing is left behind and an existing `path` keeps its content. An existing file keeps
/// its permissions, a symbolic link its link. Anything but a regular file (a folder, /dev/null) is refused.
/// Every member throws InputError("<path>: cannot write: <reason>").
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes to the disk and renames. Call once, last.
  void commit();

 private:
  [[noreturn]] void fail(std::string_view reason) const;
  /// Checks what is at the target now; returns its permissions, or 0 if there is nothing.
  unsigned prepare_target();
  void open_temporary(unsigned permissions);
  void discard() noexcept;

  std::string label_;
  std::filesystem::path target_;
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

/// Replaces or creates `path` with exactly these bytes. Errors as AtomicFile's.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace mmaudit::corpus
