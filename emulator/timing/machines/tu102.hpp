#pragma once
#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing::rows {

inline constexpr std::string_view kTu102Aliases[] = {"rtx2080ti", "rtx 2080 ti", "rtx2080"};
inline constexpr std::string_view kTu102Words = "control words that ptxas 13.0 writes for sm_75";
inline constexpr Number kTu102Numbers[] = {
    {Parameter::rate_f16_f16, 128, Known::fitted, "Sun V, m16n8k8 FP16 to FP16 (8,1)"},
    {Parameter::rate_f16_f32, 64, Known::fitted, "Sun V, m16n8k8 FP16 to FP32 (8,1)"},
    {Parameter::rate_int8, 256, Known::fitted, "Sun V, m8n8k16 INT8 (8,2)"},
    documented(Parameter::rate_int4, "turing", CoreType::int4),
    {Parameter::latency_tiny, 10, Known::compiler, kTu102Words},
    {Parameter::latency_narrow, 14, Known::compiler, kTu102Words},
    {Parameter::turnaround, 1, Known::fitted, "as GA104"},
    {Parameter::gap_tiny, 4, Known::compiler, kTu102Words},
    {Parameter::gap_narrow, 8, Known::compiler, kTu102Words},
    {Parameter::loop_tail, 14, Known::fitted, "Sun V, m8n8k16 INT8 (1,1)"},
    {Parameter::tensor_queue, 2, Known::fitted, "as GA104"},
    {Parameter::shared_latency, 21, Known::fitted, "as GA100"},
    {Parameter::shared_subcore, 2, Known::fitted, "as GA100"},
    {Parameter::shared_sm, 1, Known::fitted, "as GA100"},
    {Parameter::shared_queue, 8, Known::fitted, "as GA100"},
    {Parameter::shared_wide, 1, Known::fitted, "as Hopper"},
    {Parameter::shared_bytes, 128, Known::fitted, "as GA100"},
    {Parameter::alu_interval, 2, Known::compiler, kTu102Words},
    {Parameter::fma_interval, 2, Known::compiler, kTu102Words},
    {Parameter::special_interval, 8, Known::published,
     "CUDA C++ Programming Guide 13.0, table of throughputs: 16 per clk"},
    {Parameter::fixed_latency, 4, Known::compiler, kTu102Words},
    {Parameter::branch_taken, 1, Known::fitted, "as Hopper"},
    {Parameter::call_interval, 3, Known::fitted, "as Hopper"},
    {Parameter::branch_call, 38, Known::fitted, "as Hopper"},
    {Parameter::warps_of_sm, 32, Known::published,
     "CUDA C++ Programming Guide 13.0, table of technical specifications"},
};
inline constexpr Machine kTu102 = {"tu102", "RTX 2080 Ti", kTu102Aliases, "turing", kTu102Numbers};

}  // namespace mmaudit::timing::rows
