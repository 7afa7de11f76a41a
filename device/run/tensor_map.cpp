#include "run/tensor_map.hpp"

#include <cuda_runtime.h>

#include <string>

#include "mmaudit/error.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr int kCudaOfTensorMaps = 12000;

using EncodeTiled = CUresult (*)(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                 const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill);

EncodeTiled find_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  cuda_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kCudaOfTensorMaps,
                                              cudaEnableDefault, &found),
             "asking the driver for tensor maps");
  if (found != cudaDriverEntryPointSuccess) throw EnvironmentError("CUDA: the driver has no tensor maps");
  return reinterpret_cast<EncodeTiled>(function);
}

}  // namespace

CUtensorMap tensor_map_of(void* memory, const TensorLayout& layout) {
  const std::size_t rank = layout.extents.size();
  // The bytes from one element to the next of each dimension but the fastest.
  std::vector<cuuint64_t> strides(rank, layout.element_bytes);
  for (std::size_t i = 0; i < rank; ++i)
    strides[i] = layout.extents[i] * (i == 0 ? layout.element_bytes : strides[i - 1]);
  const std::vector<cuuint32_t> steps(rank, 1);
  CUtensorMap map = {};
  const CUresult error =
      find_encoder()(&map, layout.type, static_cast<cuuint32_t>(rank), memory, layout.extents.data(),
                     strides.data(), layout.box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                     layout.swizzle, layout.promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS)
    throw EnvironmentError("CUDA: making a tensor map: error " + std::to_string(static_cast<int>(error)));
  return map;
}

}  // namespace mmaudit::device
