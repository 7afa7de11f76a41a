#include "mmaudit/corpus/checksum.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <new>
#include <vector>

#include "input_file.hpp"

namespace mmaudit::corpus {

Checksum::Checksum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void Checksum::Free::operator()(XXH3_state_s* state) const noexcept { XXH3_freeState(state); }

void Checksum::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

void Checksum::update(std::string_view text) { update(std::as_bytes(std::span(text.data(), text.size()))); }

std::string Checksum::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

FileFacts facts_of_file(const std::filesystem::path& path,
                        const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kPart = std::uint64_t{4} << 20;
  const InputFile file(path);
  std::vector<std::byte> part(static_cast<std::size_t>(std::min(kPart, file.size())));
  Checksum sum;
  for (std::uint64_t at = 0; at < file.size(); at += part.size()) {
    part.resize(static_cast<std::size_t>(std::min(kPart, file.size() - at)));
    file.read(at, std::span(part));
    sum.update(part);
    if (progress) progress(part.size());
  }
  return {file.size(), sum.hex()};
}

FileStamp stamp_of_file(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size), info.st_ctim.tv_sec,
          info.st_ctim.tv_nsec};
}

}  // namespace mmaudit::corpus
