#pragma once
// Which SASS instructions a step becomes: read off the disassembly of the timed kernels, between the two
// readings of the clock.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::sweeps {

/// One kernel on one target.
struct CensusRow {
  std::string target;   ///< "sm_90a"
  std::string subject;  ///< benchmark, coordinates: "wgmma.m64nNk16.f32.f16.f16 n=64 a=shared group=8"
  int copies = 0;       ///< steps per turn of the loop, as ptxas unrolled it
  std::map<std::string, int> opcodes;  ///< of a turn and of the functions it calls, modifiers included; loop
                                       ///< and address arithmetic too
  std::vector<std::string_view> expected;  ///< opcodes, of a load or a store
  bool dpx = false;                        ///< a function of DPX, no matrix instruction
  std::optional<CoreType> type = {};       ///< of a matrix instruction

  /// The opcodes of the tensor core, or those expected, with their number per step: "HMMA.16816.F32",
  /// "4 x IMMA.8816.S8.S8"; of a function of DPX every opcode that each step has, the chain's own included.
  [[nodiscard]] std::string matrix() const;
  /// The name of a UnitUse: converted is where ptxas calls a function, or takes an opcode of other types. Of
  /// a function of DPX "native" (an instruction of the DPX unit) or "software".
  [[nodiscard]] std::string_view verdict() const;
};

/// What: the timed kernels with one chain in the output of `cuobjdump -sass`. Errors: none; text without them
/// gives no rows.
std::vector<CensusRow> census_of(std::string_view sass);

/// "target,subject,matrix,verdict,opcodes" lines.
std::string census_csv(const std::vector<CensusRow>& rows);
/// Such lines as a table, without the opcodes on a terminal. `target`: of this compute capability alone; 0:
/// of every one.
report::Table census_table(std::string_view csv, int target = 0);

}  // namespace mmaudit::sweeps
