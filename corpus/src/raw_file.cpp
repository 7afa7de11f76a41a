#include "input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "mmaudit/error.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::size_t kLargestRead = std::size_t{1} << 30;  // Linux transfers less than 2 GiB a call

[[noreturn]] void cannot_read(const std::string& label, int error) {
  throw InputError(label + ": cannot read: " + std::generic_category().message(error));
}

}  // namespace

// Without O_NONBLOCK, opening a named pipe would wait for its writer.
RawFile::RawFile(const std::filesystem::path& path)
    : label_(label_of(path)), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) cannot_read(label_, errno);
  struct stat info {};
  const int error = ::fstat(fd_, &info) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  ::close(fd_);
  if (error != 0) cannot_read(label_, error);
  refuse("{}: file: found {}, allowed: a regular file", label_,
         S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket");
}

RawFile::~RawFile() { ::close(fd_); }

void RawFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (offset > size_ || bytes.size() > size_ - offset)
    refuse("{}: size: found {} bytes, allowed: at least {} bytes from byte {} on", label_, size_,
           bytes.size(), offset);
  fetch(offset, bytes);
}

void RawFile::fetch(std::uint64_t offset, std::span<std::byte> bytes) const {
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

std::vector<std::byte> RawFile::read(std::uint64_t offset, std::uint64_t count) const {
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

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  constexpr unsigned kBitsOfByte = 8;
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = (value << kBitsOfByte) | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

}  // namespace mmaudit::corpus
