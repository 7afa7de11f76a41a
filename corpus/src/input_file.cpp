#include "input_file.hpp"

#include <zstd.h>

#include <algorithm>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

/// Recordings have a hundredth of it; a frame of a few bytes may claim anything.
constexpr std::uint64_t kMostContent = std::uint64_t{256} << 20;
/// Every block has a header of its own, however much it stands for. Source: RFC 8878, 3.1.1.2.
constexpr std::uint64_t kBlockHeader = 3, kMostOfBlock = std::uint64_t{128} << 10;

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : RawFile(path) {
  if (path.extension() == ".zst") decompress();
}

void InputFile::decompress() {
  if (RawFile::size() > kMostContent)
    refuse("{}: size: found {} bytes, allowed: at most {}", label(), RawFile::size(), kMostContent);
  const std::vector<std::byte> frame = read(0, RawFile::size());
  const std::uint64_t size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR) refuse("{}: content: found no zstd frame, allowed: one", label());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN)
    refuse("{}: content: found a frame without its size, allowed: one with it", label());
  if (size > kMostContent)
    refuse("{}: content: found {} bytes, allowed: at most {}", label(), size, kMostContent);
  const std::size_t whole = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
  if (ZSTD_isError(whole) != 0U)
    refuse("{}: content: found {}, allowed: one whole zstd frame", label(), ZSTD_getErrorName(whole));
  if (const std::uint64_t most = whole / kBlockHeader * kMostOfBlock; size > most)
    refuse("{}: content: found {} bytes, allowed: the {} that {} hold", label(), size, most, whole);
  content_.resize(static_cast<std::size_t>(size));
  const std::size_t done = ZSTD_decompress(content_.data(), content_.size(), frame.data(), frame.size());
  if (ZSTD_isError(done) != 0U)
    refuse("{}: content: found {}, allowed: one whole zstd frame", label(), ZSTD_getErrorName(done));
  if (done != content_.size())
    refuse("{}: content: found {} bytes, allowed: {}, as it says", label(), done, size);
  size_ = size;
  compressed_ = true;
}

void InputFile::fetch(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (!compressed_) return RawFile::fetch(offset, bytes);
  std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
}

std::string text_of_file(const std::filesystem::path& path, std::uint64_t most) {
  const InputFile file(path);
  if (file.size() > most)
    refuse("{}: size: found {} bytes, allowed: at most {}", file.label(), file.size(), most);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace mmaudit::corpus
