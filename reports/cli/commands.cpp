// The commands of `mmaudit`.
#include "common.hpp"
#include "programs.hpp"

namespace mmaudit::cli {

Program main_program() {
  return {
      "mmaudit: which bits does a tensor-core instruction produce, and is that proven on real GPUs?",
      {"mmaudit audit --a x.npy --b w.npy --dtype e4m3,bf16",
       "mmaudit explain --inst mma.m16n8k16.f32.f16.f16.f32 --a 1,2^-12 --b 1,1 --c 0.5", "mmaudit verify"},
      {{"Choose a data type", {{"audit", add_audit}, {"model", add_model}}},
       {"See what an instruction does",
        {{"explain", add_explain}, {"list", add_list}, {"convert", add_convert}, {"probe", add_probe}}},
       {"Compute the same bits",
        {{"matmul", add_matmul},
         {"gemm", add_gemm},
         {"attention", add_attention},
         {"collective", add_collective},
         {"tcgen05", add_tcgen05}}},
       {"Check a GPU, a driver, the model",
        {{"verify", add_verify}, {"baseline", add_baseline}, {"trace", add_trace}, {"screen"}}},
       {"Measure speed", {{"sweep"}, {"time"}}},
       {"This installation", {{"doctor", add_doctor}, {"completions", add_completions}, {"man", add_man}}}}};
}

}  // namespace mmaudit::cli
