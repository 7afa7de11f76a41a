// The kernels of docs/experiments/whole: tile, threads and bytes as there. Blocks that fit a
// multiprocessor of compute capability 9.0, as cudaOccupancyMaxActiveBlocksPerMultiprocessor says on an H200.
#include <algorithm>
#include <string>

#include "mmaudit/error.hpp"
#include "mmaudit/timing/kernel.hpp"
#include "timing_kernels.hpp"

namespace mmaudit::timing {
namespace {

constexpr Product kProducts[] = {
    {"wmma_global1", "f16_f32", "wmma_globalI6__halffLi1E", 32, 128, 0, 16, 2, 4},
    {"wmma_global2", "f16_f32", "wmma_globalI6__halffLi2E", 64, 128, 0, 7, 2, 4},
    {"wmma_global2", "f16_f16", "wmma_globalI6__halfS1_Li2E", 64, 128, 0, 9, 2, 2},
    {"wmma_global2", "s8_s32", "wmma_globalIaiLi2E", 64, 128, 0, 8, 1, 4},
    {"wmma_shared64", "f16_f32", "wmma_sharedI6__halffLi64E", 64, 128, 18432, 4, 2, 4},
    {"wmma_shared128", "f16_f32", "wmma_sharedI6__halffLi128E", 128, 128, 36864, 2, 2, 4},
    {"wmma_shared128", "f16_f16", "wmma_sharedI6__halfS1_Li128E", 128, 128, 36864, 2, 2, 2},
    {"wmma_shared64", "bf16_f32", "wmma_sharedI13__nv_bfloat16fLi64E", 64, 128, 18432, 4, 2, 4},
    {"wmma_shared64", "tf32_f32", "wmma_sharedIffLi64E", 64, 128, 18432, 4, 4, 4},
    {"wmma_shared64", "s8_s32", "wmma_sharedIaiLi64E", 64, 128, 18432, 4, 1, 4},
    {"wmma_double", "f64_f64", "wmma_double", 64, 128, 18432, 3, 8, 8},
    {"sgemm", "f32_f32", "5sgemmILb0E", 128, 256, 8192, 2, 4, 4},
    {"sgemm_ahead", "f32_f32", "5sgemmILb1E", 128, 256, 8192, 2, 4, 4},
    {"hgemm", "f16_f16", "5hgemmILb0E", 128, 256, 8192, 3, 2, 2},
    {"hgemm_ahead", "f16_f16", "5hgemmILb1E", 128, 256, 8192, 2, 2, 2},
    {"mma64", "f16_f32", "mma_tilesINS_6F16F32ELi64ELi32ELi32ELi1ELb0E", 64, 128, 16384, 5, 2, 4},
    {"mma64_permuted", "f16_f32", "mma_tilesINS_6F16F32ELi64ELi32ELi32ELi1ELb1E", 64, 128, 16384, 5, 2, 4},
    {"mma64_stages", "f16_f32", "mma_tilesINS_6F16F32ELi64ELi32ELi32ELi3ELb1E", 64, 128, 49152, 4, 2, 4},
    {"mma128", "f16_f32", "mma_tilesINS_6F16F32ELi128ELi64ELi32ELi1ELb0E", 128, 256, 32768, 2, 2, 4},
    {"mma128_permuted", "f16_f32", "mma_tilesINS_6F16F32ELi128ELi64ELi32ELi1ELb1E", 128, 256, 32768, 2, 2, 4},
    {"mma128_conflicts", "f16_f32", "mma_tilesINS_6F16F32ELi128ELi64ELi32ELi3ELb0E", 128, 256, 98304, 2, 2,
     4},
    {"mma128_stages", "f16_f32", "mma_tilesINS_6F16F32ELi128ELi64ELi32ELi3ELb1E", 128, 256, 98304, 2, 2, 4},
    {"mma128_stages", "f16_f16", "mma_tilesINS_6F16F16ELi128ELi64ELi32ELi3ELb1E", 128, 256, 98304, 2, 2, 2},
    {"mma128_stages", "bf16_f32", "mma_tilesINS_7Bf16F32ELi128ELi64ELi32ELi3ELb1E", 128, 256, 98304, 2, 2, 4},
    {"mma128_stages", "tf32_f32", "mma_tilesINS_7Tf32F32ELi128ELi64ELi32ELi3ELb1E", 128, 256, 98304, 2, 4, 4},
    {"mma128_stages", "s8_s32", "mma_tilesINS_5S8S32ELi128ELi64ELi32ELi3ELb1E", 128, 256, 98304, 2, 1, 4},
    {"mma64_permuted", "s8_s32", "mma_tilesINS_5S8S32ELi64ELi32ELi32ELi1ELb1E", 64, 128, 16384, 5, 1, 4},
    // None of the model's numbers is fitted to these.
    {"wmma_global2", "bf16_f32", "wmma_globalI13__nv_bfloat16fLi2E", 64, 128, 0, 7, 2, 4, false},
    {"wmma_shared64", "f16_f16", "wmma_sharedI6__halfS1_Li64E", 64, 128, 18432, 6, 2, 2, false},
    {"wmma_shared128", "s8_s32", "wmma_sharedIaiLi128E", 128, 128, 36864, 2, 1, 4, false},
    {"mma64_permuted", "bf16_f32", "mma_tilesINS_7Bf16F32ELi64ELi32ELi32ELi1ELb1E", 64, 128, 16384, 5, 2, 4,
     false},
    {"mma64_stages", "tf32_f32", "mma_tilesINS_7Tf32F32ELi64ELi32ELi32ELi3ELb1E", 64, 128, 49152, 4, 4, 4,
     false},
    {"mma64_stages", "f16_f16", "mma_tilesINS_6F16F16ELi64ELi32ELi32ELi3ELb1E", 64, 128, 49152, 4, 2, 2,
     false},
    {"mma128_permuted", "s8_s32", "mma_tilesINS_5S8S32ELi128ELi64ELi32ELi1ELb1E", 128, 256, 32768, 2, 1, 4,
     false},
    {"mma128_two_stages", "f16_f32", "mma_tilesINS_6F16F32ELi128ELi32ELi64ELi2ELb1E", 128, 256, 65536, 2, 2,
     4, false},
    {"mma128_large", "f16_f32", "mma_tilesINS_6F16F32ELi128ELi64ELi64ELi3ELb1E", 128, 128, 98304, 2, 2, 4,
     false},
};

}  // namespace

std::span<const Product> products() { return kProducts; }

const sass::Function& function_of(const Product& product) {
  static const std::vector<sass::Function> functions =
      sass::read_listing({kSm90a, sizeof kSm90a - 1}, "sm_90a");
  const auto found = std::find_if(functions.begin(), functions.end(), [&product](const sass::Function& one) {
    return one.name.find(product.symbol) != std::string::npos;
  });
  if (found == functions.end())
    throw InputError("found no listing of " + std::string(product.name) + ", allowed: one");
  return *found;
}

}  // namespace mmaudit::timing
