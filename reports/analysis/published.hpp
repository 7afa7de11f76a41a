#pragma once
// Errors as papers print them, from corpus/published/.
#include <optional>
#include <string>

#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

struct PublishedError {
  std::string source;   ///< "Sun et al. 2023, Table XII"
  std::string printed;  ///< digit for digit
};
/// What Sun et al. 2023 print for this cell.
std::optional<PublishedError> published_error(const ProfileCell& cell);

/// The one cell whose value depends on the width of the accumulator, and the range that all widths of real
/// units span.
inline constexpr double kRawCLeast = 1.85e-8, kRawCMost = 2.25e-8;
inline constexpr std::string_view kRawCCause =
    "The paper's BF16 program keeps C in FP32, unlike its FP16 and TF32 programs, so this cell is the "
    "truncation of the accumulator and not a property of BF16: 1.90e-08 with 1 extra bit (A100), 2.17e-08 "
    "with 2 (Hopper), 2.23e-08 for an exact sum rounded toward zero.";

/// Figure 17: the FP16 curves end at this chain length, at the first infinity.
inline constexpr int kF16ChainEnds = 10;

}  // namespace mmaudit::report
