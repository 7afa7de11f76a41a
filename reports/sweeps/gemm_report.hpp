#pragma once
// Whole products as text and as JSON.
#include <string>

#include "mmaudit/sweeps/gemm.hpp"

namespace mmaudit::sweeps {

inline constexpr char kGemmSchema[] = "mmaudit.gemm/1";

/// The table, the order of the ablation, and the share of the ceiling that the best kernel reaches.
std::string gemm_text(const GemmResult& result);
std::string gemm_json(const GemmResult& result);

}  // namespace mmaudit::sweeps
