#include "commands.hpp"

#include "programs.hpp"

namespace mmaudit::cli {

Program bench_program() {
  return {
      "mmaudit-bench: what measures or predicts time, or keeps a GPU busy; `mmaudit` runs it for these "
      "commands",
      {"mmaudit sweep --quick", "mmaudit time --inst mma.m16n8k16.f32.f16.f16.f32", "mmaudit screen --quick"},
      {{"Check a GPU", {{"screen", add_screen}}},
       {"Measure speed", {{"sweep", add_sweep}, {"time", add_time}}},
       {"This installation", {{"describe", add_describe}}}}};
}

}  // namespace mmaudit::cli
