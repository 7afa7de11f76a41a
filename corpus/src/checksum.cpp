#include "mmaudit/corpus/checksum.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

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

}  // namespace mmaudit::corpus
