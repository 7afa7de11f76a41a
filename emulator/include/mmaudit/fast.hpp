#pragma once
// The fast path of the host model: which datapaths it serves, and which vector instructions this machine has.
#include <cstdint>
#include <optional>
#include <string_view>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit {

/// Vector instructions, narrowest first. Every level gives the same bits.
enum class SimdLevel : std::uint8_t { portable, avx2, avx512, avx512vnni };

inline constexpr SimdLevel kSimdLevels[] = {SimdLevel::portable, SimdLevel::avx2, SimdLevel::avx512,
                                            SimdLevel::avx512vnni};

std::string_view name_of(SimdLevel level);
std::optional<SimdLevel> find_simd_level(std::string_view name);

/// True when this build has code for `level` and this processor and system run it.
bool has_simd_level(SimdLevel level);
/// The widest level there is here.
SimdLevel best_simd_level();
/// The names of the levels that this machine has: "portable, avx2".
std::string simd_levels_here();

/// True when matmul() computes `instruction` by `datapath` with vector instructions. Decided by the numbers
/// and rules of the datapath alone; inputs that vectors can't handle go to the plain core, step by step.
bool fast_serves(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit
