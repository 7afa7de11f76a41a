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

CUtensorMap tensor_map_of(const void* memory, const TensorLayout& layout) {
  const std::size_t rank = layout.extents.size();
  // The bytes from one element to the next of each dimension but the fastest.
  std::vector<cuuint64_t> strides(rank, layout.element_bytes);
  for (std::size_t i = 0; i < rank; ++i)
    strides[i] = i == 0 && layout.row_bytes != 0
                     ? layout.row_bytes
                     : layout.extents[i] * (i == 0 ? layout.element_bytes : strides[i - 1]);
  const std::vector<cuuint32_t> steps(rank, 1);
  CUtensorMap map = {};
  const CUresult error = find_encoder()(&map, layout.type, static_cast<cuuint32_t>(rank),
                                        const_cast<void*>(memory), layout.extents.data(), strides.data(),
                                        layout.box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                        layout.swizzle, layout.promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS)
    throw EnvironmentError("CUDA: making a tensor map: error " + std::to_string(static_cast<int>(error)));
  return map;
}

CUtensorMap chain_map(const void* matrix, std::uint32_t bytes, std::uint64_t row_bytes, std::uint64_t k,
                      std::uint64_t lanes, std::uint64_t batch, std::uint32_t rows) {
  return tensor_map_of(matrix, {.type = bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                        : bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                     : CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                .element_bytes = bytes,
                                .extents = {k, lanes, batch},
                                .box = {kStageRowBytes / bytes, rows, 1},
                                .row_bytes = row_bytes,
                                .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                                .promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B});
}

}  // namespace mmaudit::device
