#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::size_t kLargestRead = std::size_t{1} << 30;  // Linux transfers less than 2 GiB a call

/// Recordings have a hundredth of it; a frame of a few bytes may claim anything.
constexpr std::uint64_t kMostContent = std::uint64_t{256} << 20;
/// Every block has a header of its own, however much it stands for. Source: RFC 8878, 3.1.1.2.
constexpr std::uint64_t kBlockHeader = 3, kMostOfBlock = std::uint64_t{128} << 10;

[[noreturn]] void cannot_read(const std::string& label, int error) {
  throw InputError(fmt::format("{}: cannot read: {}", label, std::generic_category().message(error)));
}

}  // namespace

// Without O_NONBLOCK, opening a named pipe would wait for its writer.
InputFile::InputFile(const std::filesystem::path& path)
    : label_(label_of(path)), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) cannot_read(label_, errno);
  struct stat info {};
  const int error = ::fstat(fd_, &info) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    if (path.extension() != ".zst") return;
    try {
      decompress();
    } catch (...) {
      ::close(fd_);
      throw;
    }
    return;
  }
  ::close(fd_);
  if (error != 0) cannot_read(label_, error);
  refuse("{}: file: found {}, allowed: a regular file", label_,
         S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket");
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::decompress() {
  if (size_ > kMostContent)
    refuse("{}: size: found {} bytes, allowed: at most {}", label_, size_, kMostContent);
  const std::vector<std::byte> frame = read(0, size_);
  const std::uint64_t size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR) refuse("{}: content: found no zstd frame, allowed: one", label_);
  if (size == ZSTD_CONTENTSIZE_UNKNOWN)
    refuse("{}: content: found a frame without its size, allowed: one with it", label_);
  if (size > kMostContent)
    refuse("{}: content: found {} bytes, allowed: at most {}", label_, size, kMostContent);
  const std::size_t whole = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
  if (ZSTD_isError(whole) != 0U)
    refuse("{}: content: found {}, allowed: one whole zstd frame", label_, ZSTD_getErrorName(whole));
  if (const std::uint64_t most = whole / kBlockHeader * kMostOfBlock; size > most)
    refuse("{}: content: found {} bytes, allowed: the {} that {} hold", label_, size, most, whole);
  content_.resize(static_cast<std::size_t>(size));
  const std::size_t done = ZSTD_decompress(content_.data(), content_.size(), frame.data(), frame.size());
  if (ZSTD_isError(done) != 0U)
    refuse("{}: content: found {}, allowed: one whole zstd frame", label_, ZSTD_getErrorName(done));
  if (done != content_.size())
    refuse("{}: content: found {} bytes, allowed: {}, as it says", label_, done, size);
  size_ = size;
  compressed_ = true;
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (offset > size_ || bytes.size() > size_ - offset)
    refuse("{}: size: found {} bytes, allowed: at least {} bytes from byte {} on", label_, size_,
           bytes.size(), offset);
  if (compressed_) {
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    return;
  }
  while (!bytes.empty()) {
    const ssize_t done =
        ::pread(fd_, bytes.data(), std::min(bytes.size(), kLargestRead), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) cannot_read(label_, errno);
    if (done == 0)
      refuse("{}: size: found an end at byte {}, allowed: {} bytes, as opened", label_, offset, size_);
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

std::vector<std::byte> InputFile::read(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    refuse("{}: size: found {} bytes, allowed: at least {} bytes from byte {} on", label_, size_, count,
           offset);
  const auto no_memory = [&] {
    refuse("{}: size: found {} bytes, allowed: what fits into memory", label_, count);
  };
  std::vector<std::byte> bytes;
  try {
    bytes.resize(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    no_memory();
  } catch (const std::length_error&) {
    no_memory();
  }
  read(offset, std::span(bytes));
  return bytes;
}

std::string text_of_file(const std::filesystem::path& path, std::uint64_t most) {
  const InputFile file(path);
  if (file.size() > most)
    refuse("{}: size: found {} bytes, allowed: at most {}", file.label(), file.size(), most);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  constexpr unsigned kBitsOfByte = 8;
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = (value << kBitsOfByte) | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

}  // namespace mmaudit::corpus
