#pragma once
// Which SASS instructions a PTX instruction becomes: read off the disassembly of the timed kernels, between
// the two readings of the clock.
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::sweeps {

/// One PTX instruction on one target.
struct CensusRow {
  std::string target;  ///< "sm_90a"
  std::string
      subject;     ///< as the kernel's symbol spells it: "m16n8k16_f32_f16_f16_f32", "F16_n256 registers"
  int copies = 0;  ///< how often the loop spells the PTX instruction out
  std::map<std::string, int> opcodes;  ///< of all copies, modifiers included; loop and address arithmetic too

  /// The opcodes that do the multiplication, with their number a copy: "HMMA.16816.F32", "4 x
  /// IMMA.8816.S8.S8".
  [[nodiscard]] std::string matrix() const;
  /// "native", "converted" (a matrix instruction of another type, with conversions), or "no tensor core".
  [[nodiscard]] std::string_view verdict() const;
};

/// What: the kernels mma_timed and wgmma_timed with one chain in the output of `cuobjdump -sass`. Errors:
/// none; text without them gives no rows.
std::vector<CensusRow> census_of(std::string_view sass);

/// The table that comes with the program, as census_csv() prints it.
std::string_view shipped_census();

/// "target,subject,matrix,verdict,opcodes" lines.
std::string census_csv(const std::vector<CensusRow>& rows);

}  // namespace mmaudit::sweeps
