#pragma once
#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing::rows {

inline constexpr std::string_view kGa100Aliases[] = {"a100"};
inline constexpr std::string_view kGa100Words = "control words that ptxas 13.0 writes for sm_80";
inline constexpr Number kGa100Numbers[] = {
    documented(Parameter::rate_f16_f16, "ampere", CoreType::f16),
    documented(Parameter::rate_f16_f32, "ampere", CoreType::f16),
    documented(Parameter::rate_tf32, "ampere", CoreType::tf32),
    documented(Parameter::rate_int8, "ampere", CoreType::int8),
    documented(Parameter::rate_f64, "ampere", CoreType::f64),
    {Parameter::rate_int4, 910.25, Known::fitted,
     "Sun III, m16n8k64 INT4 (8,2): 8/9 of the 1024 of its note; the paper does not say why"},
    {Parameter::rate_bits, 3641, Known::fitted, "Sun III, m16n8k256 (8,2): 8/9 of the 4096 of its note"},
    {Parameter::rate_bits_xor, 3641, Known::fitted, "as AND"},
    {Parameter::interval_narrow, 4, Known::fitted, "Sun III, m8n8k16 INT8 (8,2)"},
    {Parameter::interval_sparse_narrow, 6.5, Known::fitted, "Sun VI, m16n8k16 (8,2), between FP16 and FP32"},
    {Parameter::latency_tiny, 14, Known::compiler, kGa100Words},
    {Parameter::latency_narrow, 16, Known::compiler, kGa100Words},
    {Parameter::latency_wide, 24, Known::compiler, kGa100Words},
    {Parameter::turnaround, 1, Known::fitted, "as GA104"},
    {Parameter::gap_tiny, 4, Known::compiler, kGa100Words},
    {Parameter::gap_narrow, 4, Known::compiler, kGa100Words},
    {Parameter::gap_wide, 8, Known::compiler, kGa100Words},
    {Parameter::loop_tail, 22, Known::fitted,
     "Sun III, m8n8k16 INT8 (1,1), with the loop unrolled four times"},
    {Parameter::tensor_queue, 2, Known::fitted, "as GA104"},
    {Parameter::shared_latency, 21, Known::published, "Sun X, one way: 23 less one wavefront"},
    {Parameter::shared_subcore, 2, Known::published,
     "Sun X, cycles per way; section 7: one warp 64 bytes/clk"},
    {Parameter::shared_sm, 1, Known::published, "Sun, section 7: 128 bytes/clk"},
    {Parameter::shared_queue, 8, Known::fitted, "Sun IX, 4 warps: deep enough"},
    {Parameter::shared_bytes, 128, Known::published, "Sun, section 7"},
    {Parameter::alu_interval, 2, Known::compiler, kGa100Words},
    {Parameter::fma_interval, 2, Known::compiler, kGa100Words},
    {Parameter::special_interval, 8, Known::published,
     "CUDA C++ Programming Guide 13.0, table of throughputs: 16 per clk"},
    {Parameter::fixed_latency, 4, Known::compiler, kGa100Words},
    {Parameter::branch_taken, 1, Known::fitted, "as Hopper"},
    {Parameter::call_interval, 3, Known::fitted, "as Hopper"},
    {Parameter::branch_call, 38, Known::fitted, "as Hopper"},
    {Parameter::shared_wide, 0, Known::fitted,
     "Sun X, ld.shared.u64 takes as long as .u32 with as many ways"},
    {Parameter::l1_latency, 33, Known::published, "Luo III"},
    {Parameter::l2_latency, 208, Known::published, "Luo IV, near hit"},
    {Parameter::dram_latency, 566, Known::published, "Luo III"},
    {Parameter::l1_bytes, 106.8, Known::published, "Luo V, FP32.v4"},
    {Parameter::l2_bytes, 2007.9, Known::published, "Luo V, FP32.v4"},
    {Parameter::dram_bytes, 998, Known::published, "Luo V: 1407.2 GB/s at 1410 MHz"},
    {Parameter::multiprocessors, 108, Known::published, "Luo II"},
    {Parameter::clock_mhz, 1410, Known::published, "Luo II"},
    {Parameter::warps_of_sm, 64, Known::published,
     "CUDA C++ Programming Guide 13.0, table of technical specifications"},
};
inline constexpr Machine kGa100 = {"ga100", "A100", kGa100Aliases, "ampere", kGa100Numbers};

}  // namespace mmaudit::timing::rows
