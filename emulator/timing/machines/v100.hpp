#pragma once
#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing::rows {

inline constexpr std::string_view kV100Aliases[] = {"titan v", "titanv"};
inline constexpr Number kV100Numbers[] = {
    {Parameter::step_interval_f32, 2, Known::published,
     "Raihan et al., section IV: least time between two HMMA"},
    {Parameter::step_interval_f16, 4, Known::published,
     "Raihan et al., figure 10: a step of 16-bit sums makes twice the elements of D"},
    {Parameter::step_latency_f32, 24, Known::fitted, "Raihan et al., figure 9a: 54 cycles less 15 intervals"},
    {Parameter::step_latency_f16, 36, Known::fitted,
     "Raihan et al., section III-C1: 64 cycles less 7 intervals"},
    {Parameter::warps_of_sm, 64, Known::published,
     "CUDA C++ Programming Guide 12.9, table of technical specifications"},
};
inline constexpr Machine kV100 = {"v100", "V100, Titan V", kV100Aliases, "volta", kV100Numbers};

}  // namespace mmaudit::timing::rows
