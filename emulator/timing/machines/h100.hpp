#pragma once
#include <array>

#include "hopper.hpp"

namespace mmaudit::timing::rows {

inline constexpr std::string_view kH100Aliases[] = {"h100-sxm"};
/// Those of the H200, but for the memory.
inline constexpr auto kH100Numbers = [] {
  std::array<Number, std::size(kHopperNumbers)> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = kHopperNumbers[i];
    if (numbers[i].parameter == Parameter::dram_bytes)
      numbers[i] = {Parameter::dram_bytes, 1373, Known::measured,
                    "docs/results/h100-loaded, curve: memory is full at 10.4 B/clk/SM"};
  }
  return numbers;
}();
inline constexpr Machine kH100 = {"h100", "H100 80GB HBM3", kH100Aliases, "hopper", kH100Numbers, false};

}  // namespace mmaudit::timing::rows
