#pragma once
// Tensor maps: how the copy engine finds the boxes of a tensor. Only where there is CUDA.
#include <cuda.h>

#include <cstdint>
#include <vector>

namespace mmaudit::device {

/// A tensor without gaps, its fastest dimension first.
struct TensorLayout {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  std::uint32_t element_bytes = 4;
  std::vector<cuuint64_t> extents;  ///< elements
  std::vector<cuuint32_t> box;      ///< elements; as many dimensions
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
};

/// What: the map of a tensor in device memory, made by the driver, which is asked for the function: nothing
/// links against it. Range: compute capability 9.0. Errors: EnvironmentError when the driver has no such
/// function or refuses the tensor.
CUtensorMap tensor_map_of(void* memory, const TensorLayout& layout);

}  // namespace mmaudit::device
