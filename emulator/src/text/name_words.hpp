#pragma once
// Names of instructions as people type them, in words.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit {

/// In small letters.
inline std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

/// An instruction in words, however it was spelled.
struct Words {
  std::string shape;                 ///< "m16n8k16"; of SASS "16816" or "16x8x16"
  std::vector<std::string> formats;  ///< D, A, B, then C and the scales' where they are named
  std::set<std::string> rest;        ///< "mma", "sp", "kind_f8f6f4", "satfinite", "xor", ...
};

/// AMD's v_mfma: "v_mfma_f32_32x32x8f16" (CDNA1, CDNA2), "v_mfma_f32_32x32x8_f16" and
/// "v_mfma_f32_32x32x4_2b_f16" (CDNA3), in small letters, with any prefix before "mfma"; nullopt for what is
/// none. CDNA3 has the bf16 of _1k alone.
std::optional<Words> mfma_words(std::string_view text);

}  // namespace mmaudit
