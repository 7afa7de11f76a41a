#pragma once
// Batches of tiles on real hardware. No CUDA header here: without CUDA the same functions say so.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/emulate.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/provenance.hpp"

namespace mmaudit::device {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int compute_capability = 0;  ///< ten times major plus minor
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::string driver;  ///< "580.159.04", or the driver's CUDA version where that cannot be read
  std::string cuda;    ///< version of the CUDA runtime built in, "13.0"
};

/// What `device` contributes to the provenance of a result.
inline Provenance provenance_of(const DeviceInfo& device) {
  Provenance provenance;
  provenance.gpu = device.name;
  provenance.driver = device.driver;
  provenance.cuda = device.cuda;
  provenance.compute_capability = device.compute_capability;
  provenance.multiprocessors = device.multiprocessors;
  return provenance;
}

bool built_with_cuda();

/// GPUs of this machine, by ordinal; empty without a GPU, a driver or CUDA. Never throws for "none".
std::vector<DeviceInfo> devices();

/// The form that every instruction has.
inline constexpr std::string_view kPlainForm = "plain";

/// Why this build can't run `instruction` with `modifiers` (a set of Modifier bits) in `form` (as
/// RunOptions') on `device`; empty if it can.
std::string why_not(const DeviceInfo& device, const Instruction& instruction, std::uint8_t modifiers = 0,
                    std::string_view form = kPlainForm);

struct RunOptions {
  int repetitions = 1;        ///< of the instruction per tile; from the second on, C is the last D
  bool swap_offsets = false;  ///< diagnosis: exchange the offsets of M- and N-major shared-memory descriptors
  std::string_view form = kPlainForm;  ///< of tcgen05: a name of tmem::kTileForms
};

/// What: D = A * B + C for every tile, computed by the instruction itself.
/// Shapes: as TileView, host pointers; each tile runs with its modifiers.
/// Errors: EnvironmentError when why_not() has a reason, or CUDA reports an error; InputError for metadata
/// that is not valid.
void run(const DeviceInfo& device, const Instruction& instruction, const TileView& batch,
         const RunOptions& options = {});

}  // namespace mmaudit::device
