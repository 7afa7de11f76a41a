// What loads of whole kernels meet, for the timing model: latency against load, cp.async beside ldmatrix, how
// the first-level cache misses and places lines, mma with changing operands, and clocks inside products.
// Prints CSV: docs/results/h100-loaded. `loaded PART`, PART one of curve, beside, l1, mma, inside. Compiles
// with nvcc alone:
//   nvcc -O3 -std=c++20 -gencode arch=compute_90a,code=sm_90a loaded.cu -o loaded
#include <cstring>

#include "loaded_curve.cuh"
#include "loaded_inside.cuh"
#include "loaded_l1.cuh"
#include "loaded_units.cuh"

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  cudaDeviceProp device{};
  CK(cudaGetDeviceProperties(&device, 0));
  std::printf("# %s, %d multiprocessors, L2 %d bytes\n", device.name, device.multiProcessorCount,
              device.l2CacheSize);
  if (part == "curve")
    loaded::curves();
  else if (part == "beside")
    loaded::beside();
  else if (part == "l1")
    loaded::first_level();
  else if (part == "mma")
    loaded::multiplications();
  else if (part == "inside")
    loaded::inside(argc > 2 ? argv[2] : nullptr);
  else
    return 2;
  return 0;
}
