#pragma once
// The forms of a convolution's tcgen05.mma. Source: P. Luo's note on Blackwell, Table 9; the PTX ISA 9.0,
// 9.7.16.10.9 has the same, and forbids .ashift with the collector's fill and use.
#include <cstdint>
#include <string_view>

namespace mmaudit::conv {

enum class Presence : std::uint8_t { absent, optional, required };

struct MmaFormRow {
  int number = 0;
  bool a_in_tensor_memory = false;
  Presence ashift = Presence::absent, collector = Presence::required;
  Presence disable_output_lane = Presence::optional;
};

inline constexpr MmaFormRow kMmaForms[] = {
    {1, false, Presence::absent, Presence::required},
    {2, true, Presence::optional, Presence::required},
    {3, true, Presence::required, Presence::optional},
};

inline constexpr std::string_view kFormKinds[] = {"f16", "tf32", "f8f6f4"};
inline constexpr int kFormCtaGroups[] = {1, 2};
inline constexpr std::string_view kCollectorOps[] = {"fill", "use", "lastuse", "discard"};

constexpr bool allows(Presence presence, bool there) {
  return presence == Presence::optional || there == (presence == Presence::required);
}

}  // namespace mmaudit::conv
