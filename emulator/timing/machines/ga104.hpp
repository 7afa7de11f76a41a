#pragma once
#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing::rows {

inline constexpr std::string_view kGa104Aliases[] = {"rtx3070ti", "rtx 3070 ti"};
inline constexpr std::string_view kGa104Words = "control words that ptxas 13.0 writes for sm_86";
inline constexpr Number kGa104Numbers[] = {
    {Parameter::rate_f16_f16, 128, Known::fitted, "Sun IV, m16n8k16 FP16 to FP16 (8,1)"},
    {Parameter::rate_f16_f32, 64, Known::fitted,
     "Sun IV, m16n8k16 FP16 to FP32 (8,1): half of sums of 16 bits"},
    {Parameter::rate_tf32, 32, Known::fitted, "Sun IV, m16n8k8 TF32 (8,1)"},
    {Parameter::rate_int8, 256, Known::fitted, "Sun IV, m16n8k32 INT8 (8,1)"},
    {Parameter::rate_int4, 512, Known::fitted, "Sun IV, m16n8k64 INT4 (8,1)"},
    {Parameter::rate_bits, 2048, Known::fitted, "Sun IV, m16n8k256 (8,1)"},
    {Parameter::rate_bits_xor, 2048, Known::fitted, "as AND"},
    {Parameter::interval_narrow, 4, Known::fitted, "as GA100"},
    {Parameter::latency_tiny, 14, Known::compiler, kGa104Words},
    {Parameter::latency_narrow, 16, Known::compiler, kGa104Words},
    {Parameter::latency_wide, 24, Known::compiler, kGa104Words},
    {Parameter::turnaround, 1, Known::fitted,
     "Sun IV, m16n8k16 FP16 to FP32 (1,1): 33 where the unit takes 32"},
    {Parameter::gap_tiny, 4, Known::compiler, kGa104Words},
    {Parameter::gap_narrow, 4, Known::compiler, kGa104Words},
    {Parameter::gap_wide, 8, Known::compiler, kGa104Words},
    {Parameter::loop_tail, 22, Known::fitted, "as GA100"},
    {Parameter::tensor_queue, 2, Known::fitted,
     "Sun IV, m16n8k8 FP16 to FP16 (4,3): the loop's end is hidden"},
    {Parameter::shared_latency, 21, Known::fitted, "as GA100"},
    {Parameter::shared_subcore, 2, Known::fitted, "as GA100"},
    {Parameter::shared_sm, 1, Known::fitted, "as GA100"},
    {Parameter::shared_queue, 8, Known::fitted, "as GA100"},
    {Parameter::shared_wide, 1, Known::fitted, "as Hopper"},
    {Parameter::shared_bytes, 128, Known::fitted, "as GA100"},
    {Parameter::alu_interval, 2, Known::compiler, kGa104Words},
    {Parameter::fma_interval, 2, Known::compiler, kGa104Words},
    {Parameter::special_interval, 8, Known::published,
     "CUDA C++ Programming Guide 13.0, table of throughputs: 16 per clk"},
    {Parameter::fixed_latency, 4, Known::compiler, kGa104Words},
    {Parameter::branch_taken, 1, Known::fitted, "as Hopper"},
    {Parameter::call_interval, 3, Known::fitted, "as Hopper"},
    {Parameter::branch_call, 38, Known::fitted, "as Hopper"},
    {Parameter::warps_of_sm, 48, Known::published,
     "CUDA C++ Programming Guide 13.0, table of technical specifications"},
};
inline constexpr Machine kGa104 = {"ga104", "RTX 3070 Ti", kGa104Aliases, "ga10x", kGa104Numbers};

}  // namespace mmaudit::timing::rows
