#pragma once
#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing::rows {

inline constexpr std::string_view kAd102Aliases[] = {"rtx4090", "rtx 4090"};
inline constexpr std::string_view kAd102Words = "control words that ptxas 13.0 writes for sm_89";
inline constexpr Number kAd102Numbers[] = {
    documented(Parameter::rate_f16_f16, "ada", CoreType::f16),
    {Parameter::rate_f16_f32, 64, Known::published,
     "NVIDIA Ada GPU Architecture, RTX 4090: 165.2 TFLOPS with sums of 32 bits"},
    {Parameter::rate_tf32, 32, Known::published, "NVIDIA Ada GPU Architecture, RTX 4090: 82.6 TFLOPS"},
    documented(Parameter::rate_int8, "ada", CoreType::int8),
    documented(Parameter::rate_fp8_f16, "ada", CoreType::fp8),
    {Parameter::rate_fp8_f32, 128, Known::published,
     "NVIDIA Ada GPU Architecture, RTX 4090: 330.3 TFLOPS with sums of 32 bits"},
    documented(Parameter::rate_int4, "ada", CoreType::int4),
    {Parameter::interval_narrow, 4, Known::fitted, "as GA100"},
    {Parameter::latency_tiny, 14, Known::compiler, kAd102Words},
    {Parameter::latency_narrow, 16, Known::compiler, kAd102Words},
    {Parameter::latency_wide, 24, Known::compiler, kAd102Words},
    {Parameter::turnaround, 2, Known::fitted,
     "Luo VIII, RTX4090, m16n8k8 f16 to f32: 18.8 where the unit takes 16"},
    {Parameter::gap_tiny, 4, Known::compiler, kAd102Words},
    {Parameter::gap_narrow, 4, Known::compiler, kAd102Words},
    {Parameter::gap_wide, 8, Known::compiler, kAd102Words},
    {Parameter::loop_tail, 22, Known::fitted, "as GA100"},
    {Parameter::tensor_queue, 2, Known::fitted, "as GA104"},
    {Parameter::shared_latency, 21, Known::fitted, "as GA100"},
    {Parameter::shared_subcore, 2, Known::fitted, "as GA100"},
    {Parameter::shared_sm, 1, Known::fitted, "as GA100"},
    {Parameter::shared_queue, 8, Known::fitted, "as GA100"},
    {Parameter::shared_wide, 1, Known::fitted, "as Hopper"},
    {Parameter::shared_bytes, 128, Known::fitted, "as GA100"},
    {Parameter::alu_interval, 2, Known::compiler, kAd102Words},
    {Parameter::fma_interval, 2, Known::compiler, kAd102Words},
    {Parameter::special_interval, 8, Known::published,
     "CUDA C++ Programming Guide 13.0, table of throughputs: 16 per clk"},
    {Parameter::fixed_latency, 4, Known::compiler, kAd102Words},
    {Parameter::branch_taken, 1, Known::fitted, "as Hopper"},
    {Parameter::call_interval, 3, Known::fitted, "as Hopper"},
    {Parameter::branch_call, 38, Known::fitted, "as Hopper"},
    {Parameter::l1_latency, 32, Known::published, "Luo III"},
    {Parameter::l2_latency, 273, Known::published, "Luo III"},
    {Parameter::dram_latency, 571, Known::published, "Luo III"},
    {Parameter::l1_bytes, 121.2, Known::published, "Luo V, FP32.v4"},
    {Parameter::l2_bytes, 1708, Known::published, "Luo V, FP32.v4"},
    {Parameter::dram_bytes, 343, Known::published, "Luo V: 929.8 GB/s at 2710 MHz"},
    {Parameter::multiprocessors, 128, Known::published, "Luo II"},
    {Parameter::clock_mhz, 2710, Known::published, "Luo, section 6.2"},
    {Parameter::warps_of_sm, 48, Known::published,
     "CUDA C++ Programming Guide 13.0, table of technical specifications"},
};
inline constexpr Machine kAd102 = {"ad102", "RTX 4090", kAd102Aliases, "ada", kAd102Numbers};

}  // namespace mmaudit::timing::rows
