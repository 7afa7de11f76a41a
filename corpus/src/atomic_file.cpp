#include "mmaudit/corpus/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <deque>
#include <system_error>

#include "mmaudit/error.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLargestWrite = std::size_t{1} << 30;  // Linux transfers less than 2 GiB a call
constexpr int kNameAttempts = 100;
constexpr mode_t kPermissionBits = 07777;
constexpr mode_t kDefaultPermissions = 0666;  // less the umask

std::string system_reason(int error) { return std::generic_category().message(error); }

/// A name no other thread uses; O_EXCL settles it with other processes. Independent of the target's name,
/// which may already be as long as the file system allows.
std::string temporary_name() {
  static std::atomic<unsigned> counter{0};
  return fmt::format(".mmaudit-{}-{}.tmp", ::getpid(), counter.fetch_add(1));
}

/// Signals reach this thread after its life. With several threads, the last few instructions remain.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : label_(label_of(path)), target_(path) {
  const unsigned permissions = prepare_target();
  open_temporary(permissions);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::fail(std::string_view reason) const {
  throw InputError(fmt::format("{}: cannot write: {}", label_, reason));
}

void AtomicFile::fail_with(int error, std::string_view before) const {
  const std::string reason = fmt::format("{}{}", before, system_reason(error));
  for (const int limit : {ENOSPC, EDQUOT, EFBIG, EIO, ENFILE, EMFILE, ENOMEM})
    if (error == limit) throw EnvironmentError(fmt::format("{}: cannot write: {}", label_, reason));
  fail(reason);
}

void AtomicFile::discard() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::give_up(int error) {
  discard();
  fail_with(error);
}

unsigned AtomicFile::prepare_target() {
  if (target_.empty()) fail("the path is empty");
  unsigned permissions = 0;
  struct stat info {};
  if (::stat(target_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail("it is a folder");
    // A rename would put a plain file where /dev/null was.
    if (!S_ISREG(info.st_mode)) fail("it is not a regular file");
    // A rename would get past a file's write protection.
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail(system_reason(errno));
    permissions = info.st_mode & kPermissionBits;
    std::error_code error;
    if (fs::is_symlink(target_, error)) target_ = fs::canonical(target_, error);
    if (error) fail(error.message());
  } else if (errno != ENOENT && errno != ENOTDIR) {
    fail(system_reason(errno));
  } else if (::lstat(target_.c_str(), &info) == 0) {
    fail("it is a symbolic link to nothing");  // which a rename would replace
  }
  folder_ = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  const std::string folder = label_of(folder_);
  if (::stat(folder_.c_str(), &info) != 0) {
    if (errno == ENOENT) fail(fmt::format("the folder '{}' does not exist", folder));
    fail(fmt::format("the folder '{}': {}", folder, system_reason(errno)));
  }
  if (!S_ISDIR(info.st_mode)) fail(fmt::format("'{}' is not a folder", folder));
  if (!target_.has_filename()) fail("it is a folder");
  return permissions;
}

void AtomicFile::open_temporary(unsigned permissions) {
  // linkat() needs /proc to name the file later.
  if (::access("/proc/self/fd", X_OK) == 0)
    fd_ = ::open(folder_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kDefaultPermissions);
  for (int attempt = 0; attempt < kNameAttempts && fd_ < 0; ++attempt) {
    temporary_ = folder_ / temporary_name();
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kDefaultPermissions);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail_with(error, fmt::format("the folder '{}' is not writable: ", label_of(folder_)));
  }
  // A private file must not become readable by being rewritten; best effort, as some file systems have no
  // modes.
  if (permissions != 0) static_cast<void>(::fchmod(fd_, static_cast<mode_t>(permissions)));
}

void AtomicFile::give_name() {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    const fs::path name = folder_ / temporary_name();
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) break;
  }
  give_up(errno);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (fd_ < 0) fail("it is already closed");
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (done < 0) {
      if (errno == EINTR) continue;
      give_up(errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::finish() {
  if (fd_ < 0) fail("it is already closed");
  // EINVAL: a file system without fsync. Anything else may mean that the data did not reach the disk.
  if (::fsync(fd_) != 0 && errno != EINVAL) {
    give_up(errno);
  }
  finished_ = true;
}

void AtomicFile::commit() {
  if (fd_ < 0 || !finished_) finish();
  const SignalsWait wait;  // between the name and its place
  if (temporary_.empty()) give_name();
  const int closed = ::close(fd_);
  const int close_error = errno;
  fd_ = -1;
  if (closed != 0) {
    give_up(close_error);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    give_up(errno);
  }
  temporary_.clear();
  // The content is safe; this makes the new name survive a power cut too, where the file system can.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    static_cast<void>(::fsync(folder));
    ::close(folder);
  }
}

void require_writable(const fs::path& path) {
  if (path.empty() || path == "-") return;
  const AtomicFile tried(path);
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

void write_files_atomically(std::span<const TextFile> files) {
  std::deque<AtomicFile> open;
  for (const TextFile& file : files) {
    open.emplace_back(file.path);
    open.back().write(file.text);
  }
  for (AtomicFile& file : open) file.finish();
  for (AtomicFile& file : open) file.commit();
}

}  // namespace mmaudit::corpus
