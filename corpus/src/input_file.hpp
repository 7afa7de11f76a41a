#pragma once
// Reads parts of a file whose size is known, so that no size found inside it is trusted.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mmaudit::corpus {

/// The bytes of a file as they lie.
class RawFile {
 public:
  /// Throws InputError if the path is missing, unreadable or not a regular file.
  explicit RawFile(const std::filesystem::path& path);
  virtual ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  /// The path, fit for a message.
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Fills `bytes` from `offset`. Throws InputError if the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;

  /// `count` bytes from `offset`, checked against the file's size before anything is allocated.
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t offset, std::uint64_t count) const;

 protected:
  /// Bytes that are known to be there.
  virtual void fetch(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::uint64_t size_ = 0;

 private:
  std::string label_;
  int fd_ = -1;
};

/// A name that ends in ".zst" is one zstd frame, which says how large its content is; size and offsets are
/// the content's.
class InputFile final : public RawFile {
 public:
  /// Throws InputError as RawFile, or where such a name is of no such frame.
  explicit InputFile(const std::filesystem::path& path);

 private:
  void fetch(std::uint64_t offset, std::span<std::byte> bytes) const override;
  void decompress();

  std::vector<std::byte> content_;  ///< of a compressed file
  bool compressed_ = false;
};

/// An unsigned little-endian number of 1 to 8 bytes.
std::uint64_t little_endian(std::span<const std::byte> bytes);

}  // namespace mmaudit::corpus
