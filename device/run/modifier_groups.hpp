#pragma once
// A launch has one modifier byte, a batch one per tile.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mmaudit::device {

/// Tiles of a part of the batch, by modifier byte.
using Groups = std::array<std::vector<std::uint32_t>, 256>;

/// `modifiers` of `count` tiles; null: every one is 0.
inline Groups group_by_modifiers(const std::uint8_t* modifiers, std::size_t count) {
  Groups groups;
  for (std::size_t tile = 0; tile < count; ++tile)
    groups[modifiers != nullptr ? modifiers[tile] : 0].push_back(static_cast<std::uint32_t>(tile));
  return groups;
}

}  // namespace mmaudit::device
