#pragma once
// Where the parts of a stored number are, for code that takes it apart by shifts and masks. Plain data: it
// goes to kernels by value, and to vector code that shares nothing with the rest of the program.
#include <cstdint>

namespace mmaudit::detail {

struct StoredBits {
  std::uint32_t magnitude_mask = 0;  ///< after the ignored bits are shifted out
  std::uint32_t special_from = 0;    ///< magnitudes from here up are infinities and NaNs
  std::uint32_t infinity = 0;        ///< the magnitude that is one; 0: the format has none
  std::int32_t ignored_bits = 0;
  std::int32_t sign_bit = 0;  ///< index in the raw bits
  std::int32_t fraction_bits = 0;
  std::int32_t min_exponent = 0;  ///< of the format that the datapath sees
};

}  // namespace mmaudit::detail
