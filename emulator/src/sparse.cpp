#include "mmaudit/arithmetic/sparse.hpp"

#include <cstddef>

namespace mmaudit {
namespace {

std::string allowed_of(const Sparsity& sparsity) {
  const std::string last = std::to_string(sparsity.group - 1);
  if (sparsity.kept == 1) return "0 or " + last;
  if (sparsity.run == 1) return "two of 0 to " + last + ", ascending";
  return "two pairs of neighbours (0 1, 2 3, 4 5, 6 7), ascending";
}

}  // namespace

std::string why_bad_metadata(const Instruction& instruction, std::span<const std::uint8_t> metadata,
                             std::size_t tiles) {
  const auto m = static_cast<std::size_t>(instruction.m),
             stored = static_cast<std::size_t>(instruction.stored_k());
  if (!is_sparse(instruction.op))
    return metadata.empty() ? "" : "found some, allowed none: the instruction is not sparse";
  if (metadata.size() != tiles * m * stored)
    return "found " + std::to_string(metadata.size()) + " positions, allowed " +
           std::to_string(tiles * m * stored);
  const Sparsity sparsity = sparsity_of(instruction);
  const auto kept = static_cast<std::size_t>(sparsity.kept);
  for (std::size_t first = 0; first < metadata.size(); first += kept) {
    if (valid_group(sparsity, &metadata[first])) continue;
    std::string found;
    for (std::size_t i = 0; i < kept; ++i)
      found += (i == 0 ? "" : " ") + std::to_string(static_cast<unsigned>(metadata[first + i]));
    return "tile " + std::to_string(first / (m * stored)) + " row " + std::to_string(first / stored % m) +
           " group " + std::to_string(first % stored / kept) + ": found " + found + ", allowed " +
           allowed_of(sparsity);
  }
  return {};
}

}  // namespace mmaudit
