#pragma once
// Pieces of a PTX text, for its reader.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/tensor_memory/ptx.hpp"

namespace mmaudit::tmem {

/// Of a fill, and of what a declaration counts.
inline constexpr std::size_t kMostElements = std::size_t{1} << 20;

std::string_view trimmed(std::string_view text);
std::vector<std::string> words_of(std::string_view text);
/// An integer or a constant expression of integers as PTX spells it (0x1F, 0b11, 017, 0f3F800000, (1 << 4) |
/// 2); nullopt when it is none.
std::optional<std::int64_t> number_of(std::string_view text);
/// "param NAME VALUE", "block N": whether `text` is one of them; `reason` is why it is a wrong one.
bool read_launch(std::string_view text, PtxProgram& program, std::string& reason);
/// "shared a 0xDESC f16 128x16 [mn] [cta 1] = random 1", "global 0x0 f32 128x64": empty, or why it is none.
std::string read_fill(std::string_view text, Fill& fill);

}  // namespace mmaudit::tmem
