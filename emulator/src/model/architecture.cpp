#include "mmaudit/model/architecture.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

// Every file of architectures/, listed by CMake.
#include "architecture_includes.hpp"

namespace mmaudit {
namespace {

/// Oldest first.
constexpr auto kArchitectures = [] {
  std::array all{
#include "architecture_list.hpp"
  };
  std::sort(all.begin(), all.end(), [](const Architecture& x, const Architecture& y) {
    return x.compute_capability < y.compute_capability;
  });
  return all;
}();

// In the order of Evidence.
constexpr std::string_view kEvidence[] = {"recorded", "replayed", "literature", "user"};

/// What vendors and shops write around the name of a GPU, and what does not change its arithmetic.
constexpr std::string_view kAround[] = {
    "nvidia", "amd",  "instinct", "radeon", "geforce", "tesla",  "sxm",   "sxm2", "sxm3",      "sxm4",
    "sxm5",   "pcie", "nvl",      "hbm3",   "16gb",    "24gb",   "32gb",  "40gb", "48gb",      "64gb",
    "80gb",   "94gb", "96gb",     "141gb",  "gpu",     "laptop", "super", "ti",   "generation"};

/// A name in small letters and digits alone, without what stands around it: "NVIDIA GeForce RTX 4090" is
/// "rtx4090", "9.0", "compute_90" and "sm_90" are "sm90".
std::string plain_name(std::string_view name) {
  std::string plain, word;
  const auto end_word = [&] {
    if (std::find(std::begin(kAround), std::end(kAround), word) == std::end(kAround)) plain += word;
    word.clear();
  };
  for (const char c : name) {
    const int code = static_cast<unsigned char>(c);
    const bool letter = std::isalnum(code) != 0;
    if (!letter && std::string_view(" _-.").find(c) == std::string_view::npos) return {};
    if (letter)
      word += static_cast<char>(std::tolower(code));
    else
      end_word();
  }
  end_word();
  constexpr std::string_view kCompute = "compute";
  if (plain.starts_with(kCompute)) plain.replace(0, kCompute.size(), "sm");
  if (!plain.empty() && plain.find_first_not_of("0123456789") == std::string::npos) plain.insert(0, "sm");
  return plain;
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  const std::string plain = plain_name(name);
  if (plain.empty()) return nullptr;
  for (const Architecture& one : kArchitectures) {
    if (plain_name(one.name) == plain) return &one;
    for (const std::string_view alias : one.aliases)
      if (plain_name(alias) == plain) return &one;
  }
  return nullptr;
}

const Architecture* find_architecture(int compute_capability) {
  return find_architecture("sm_" + std::to_string(compute_capability));
}

const DatapathEntry* find_datapath(const Architecture& architecture, const Instruction& instruction) {
  if (architecture.compute_capability < instruction.min_compute_capability) return nullptr;
  for (const DatapathEntry& entry : architecture.datapaths)
    if (entry.unit == instruction.unit && entry.output == instruction.d &&
        (entry.addend == Format::none || entry.addend == instruction.c))
      return &entry;
  return nullptr;
}

std::string_view name_of(Evidence evidence) { return kEvidence[static_cast<std::size_t>(evidence)]; }

}  // namespace mmaudit
