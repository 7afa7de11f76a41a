#pragma once
#include <nlohmann/json.hpp>

#include "mmaudit/report/gemm_study.hpp"

namespace mmaudit::report {

// Fields keep the order in which they are written.
nlohmann::ordered_json json_of(const GemmErrors& errors);
nlohmann::ordered_json json_of(const CastCounts& counts);
nlohmann::ordered_json json_of(const GemmStudy& study);

}  // namespace mmaudit::report
