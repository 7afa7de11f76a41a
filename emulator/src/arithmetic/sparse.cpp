#include "mmaudit/arithmetic/sparse.hpp"

#include <cstddef>

#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

std::string allowed_of(const Sparsity& sparsity) {
  const std::string last = std::to_string(sparsity.group - 1);
  if (sparsity.kept == 1) return "0 or " + last;
  if (sparsity.run == 1) return "two of 0 to " + last + ", ascending";
  return "two pairs of neighbours (0 1, 2 3, 4 5, 6 7), ascending";
}

}  // namespace

std::string why_bad_metadata(const Sparsity& sparsity, std::span<const std::uint8_t> metadata,
                             std::uint64_t matrices, std::uint64_t rows, std::uint64_t stored,
                             const char* of) {
  if (metadata.size() != matrices * rows * stored)
    return refusal("found {} positions, allowed: {}", metadata.size(), matrices * rows * stored);
  const auto kept = static_cast<std::size_t>(sparsity.kept);
  for (std::size_t first = 0; first < metadata.size(); first += kept) {
    if (valid_group(sparsity, &metadata[first])) continue;
    std::string found;
    for (std::size_t i = 0; i < kept; ++i)
      found += (i == 0 ? "" : " ") + std::to_string(static_cast<unsigned>(metadata[first + i]));
    return refusal("{} {} row {} group {}: found {}, allowed: {}", of, first / (rows * stored),
                   first / stored % rows, first % stored / kept, found, allowed_of(sparsity));
  }
  return {};
}

std::string why_bad_metadata(const Instruction& instruction, std::span<const std::uint8_t> metadata,
                             std::size_t tiles) {
  if (!is_sparse(instruction.op))
    return metadata.empty() ? "" : refusal("found some, allowed: none: the instruction is not sparse");
  return why_bad_metadata(sparsity_of(instruction), metadata, tiles,
                          static_cast<std::uint64_t>(instruction.m),
                          static_cast<std::uint64_t>(instruction.stored_k()), "tile");
}

}  // namespace mmaudit
