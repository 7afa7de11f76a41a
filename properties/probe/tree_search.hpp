#pragma once
// From masks to a tree.
#include <optional>
#include <string>

#include "masks.hpp"

namespace mmaudit::probe {

/// The tree over all k and c that every mask agrees with; none, and `why`, where two of them contradict each
/// other.
std::optional<SumTree> measured_tree(MaskedGemm& gemm, std::uint64_t leaves, std::string& why);

}  // namespace mmaudit::probe
