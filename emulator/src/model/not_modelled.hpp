#pragma once
// GPUs and instructions that people ask for and no datapath describes, with what is missing.
#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>

namespace mmaudit {

/// `part` is in the name, in small letters; the first that fits counts. Names of GPUs come without blanks and
/// hyphens.
struct NotModelled {
  std::string_view part, why;
};

inline constexpr std::string_view kNoRdna = "AMD RDNA: no source found says how v_wmma adds";
inline constexpr std::string_view kNoCdna4 = "AMD CDNA4: no source found says how its instructions add";

inline constexpr NotModelled kGpusNotModelled[] = {
    {"rdna", kNoRdna}, {"gfx11", kNoRdna},   {"gfx12", kNoRdna},  {"radeonrx", kNoRdna}, {"rx7", kNoRdna},
    {"rx9", kNoRdna},  {"gfx950", kNoCdna4}, {"cdna4", kNoCdna4}, {"mi350", kNoCdna4},   {"mi355", kNoCdna4}};

inline constexpr NotModelled kInstructionsNotModelled[] = {
    {"smfmac_", "AMD's sparse v_smfmac: no source found says how they add"},
    {"v_wmma_", kNoRdna},
    {"amdgcn_wmma_", kNoRdna},
    {"swmmac_", "AMD RDNA, sparse: no source found says how v_swmmac adds"},
    {"mfma_i32_", "AMD's integer v_mfma have no datapath here"},
    {"mfma_scale_", kNoCdna4},
    {"mfma_f32_16x16x128_f8f6f4", kNoCdna4},
    {"mfma_f32_32x32x64_f8f6f4", kNoCdna4},
    {"mfma_f32_16x16x32_f16", kNoCdna4},
    {"mfma_f32_16x16x32_bf16", kNoCdna4},
    {"mfma_f32_32x32x16_f16", kNoCdna4},
    {"mfma_f32_32x32x16_bf16", kNoCdna4}};

/// ", which is not modelled (why)", or empty for any other name.
inline std::string not_modelled(std::string_view name, std::span<const NotModelled> table) {
  std::string plain;
  for (const char c : name)
    if (c != ' ' && c != '-') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = std::find_if(table.begin(), table.end(), [&](const NotModelled& one) {
    return plain.find(one.part) != std::string::npos;
  });
  return found == table.end() ? "" : ", which is not modelled (" + std::string(found->why) + ")";
}

}  // namespace mmaudit
