#pragma once
// Which instructions and which architecture the user or a GPU means.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::checks {

/// True when `name` contains one of `parts`, when one of them is "all", and when there are none.
bool selected(std::string_view name, const std::vector<std::string>& parts);
/// The same of an instruction's name; a part may also be a whole name in any spelling of names.hpp, with any
/// N.
bool selected(const Instruction& instruction, const std::vector<std::string>& parts);
/// " (the nearest is X)" for parts that selected nothing; empty where none is near.
std::string nearest_text(const std::vector<std::string>& parts);

/// Every instruction, wgmma and tcgen05 at the given n, tcgen05 at the given m; an instruction without this
/// shape is left out.
std::vector<Instruction> all_instructions(int n, int m = 128);

/// The instruction of `architecture` with the least k, at least `least_k`, for which `fits` is true; wgmma
/// and tcgen05 at the least n. nullopt: there is none.
std::optional<Instruction> shallowest(const Architecture& architecture, std::size_t least_k,
                                      const std::function<bool(const Instruction&)>& fits);

/// The architecture of `gpu`; EnvironmentError when the model does not have it.
const Architecture& architecture_of(const device::DeviceInfo& gpu);

}  // namespace mmaudit::checks
