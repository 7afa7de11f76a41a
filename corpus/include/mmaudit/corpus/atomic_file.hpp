#pragma once
// Output files appear whole or not at all. Every writer of the project goes through here.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace mmaudit::corpus {

/// A file written piece by piece in the folder of `path`, where the file system can without a name (elsewhere
/// under a temporary one), so that a signal leaves nothing behind; commit() moves it to `path`.
/// Without commit() nothing is left behind and an existing `path` keeps its content. An existing file keeps
/// its permissions, a symbolic link its link; a link to nothing is refused. Anything but a regular file (a
/// folder, /dev/null) is refused. Every member throws "<path>: cannot write: <reason>": EnvironmentError
/// where a disk, a quota or another limit of the machine ends, else InputError.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes to the disk: after it only the rename of commit() is left.
  void finish();
  /// finish(), unless that is done, and renames. Call once, last.
  void commit();

 private:
  [[noreturn]] void fail(std::string_view reason) const;
  [[noreturn]] void fail_with(int error, std::string_view before = {}) const;
  /// Leaves nothing behind and fails.
  [[noreturn]] void give_up(int error);
  /// Checks what is at the target now; returns its permissions, or 0 if there is nothing.
  unsigned prepare_target();
  void open_temporary(unsigned permissions);
  /// Gives the file without a name a temporary one.
  void give_name();
  void discard() noexcept;

  std::string label_;
  std::filesystem::path target_;
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  bool finished_ = false;
};

/// What: refuses a path that AtomicFile can't write to, before long work; writes nothing. "-" and "" pass.
/// Errors: AtomicFile's.
void require_writable(const std::filesystem::path& path);

/// Replaces or creates `path` with exactly these bytes. Errors as AtomicFile's.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// A text and where it goes.
struct TextFile {
  std::filesystem::path path;
  std::string text;
};
/// Replaces or creates all of them; every text is on the disk before the first appears, so that a full disk
/// leaves all as they were. Errors as AtomicFile's.
void write_files_atomically(std::span<const TextFile> files);

}  // namespace mmaudit::corpus
