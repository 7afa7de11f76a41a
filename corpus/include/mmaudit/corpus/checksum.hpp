#pragma once
// XXH3-128, streamed. Finds damage, not forgery.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace mmaudit::corpus {

class Checksum {
 public:
  /// Throws std::bad_alloc.
  Checksum();

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);

  /// 32 lower-case hex digits over everything so far, most significant first, as `xxhsum -H2` prints them.
  [[nodiscard]] std::string hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// The same of everything at once.
inline std::string checksum_of(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.update(bytes);
  return sum.hex();
}
inline std::string checksum_of(std::string_view text) { return checksum_of(std::as_bytes(std::span(text))); }

/// A file as it lies on the disk.
struct FileFacts {
  std::uint64_t bytes = 0;
  std::string checksum;  ///< of all of it
};
/// `progress` gets the bytes of every part that was read. Throws InputError.
FileFacts facts_of_file(const std::filesystem::path& path,
                        const std::function<void(std::uint64_t)>& progress = {});

/// Which file a path names and when it was last written: equal before and after reading, the bytes read are
/// one content of one file.
struct FileStamp {
  std::uint64_t device = 0, node = 0, bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  ///< of the last change, by the file system's clock
  bool operator==(const FileStamp&) const = default;
};
/// All zero where there is no such file.
FileStamp stamp_of_file(const std::filesystem::path& path);

}  // namespace mmaudit::corpus
