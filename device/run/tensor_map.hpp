#pragma once
// Tensor maps: how the copy engine finds the boxes of a tensor. Only where there is CUDA.
#include <cuda.h>

#include <cstdint>
#include <vector>

namespace mmaudit::device {

/// A tensor, its fastest dimension first, without gaps but for those between its rows.
struct TensorLayout {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  std::uint32_t element_bytes = 4;
  std::vector<cuuint64_t> extents;  ///< elements
  std::vector<cuuint32_t> box;      ///< elements; as many dimensions
  std::uint64_t row_bytes = 0;      ///< from row to row; 0: no gaps
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
};

/// What: the map of a tensor in device memory, made by the driver, which is asked for the function: nothing
/// links against it. Range: compute capability 9.0. Errors: EnvironmentError when the driver has no such
/// function or refuses the tensor.
CUtensorMap tensor_map_of(const void* memory, const TensorLayout& layout);

inline constexpr int kStageRowBytes =
    128;  ///< of a row in a stage of the kernels of whole products, swizzled
/// Boxes of `rows` rows of a (batch, lanes, k) matrix with rows of `row_bytes`, a multiple of 16,
/// kStageRowBytes of each; beyond the matrix they are zeros.
CUtensorMap chain_map(const void* matrix, std::uint32_t bytes, std::uint64_t row_bytes, std::uint64_t k,
                      std::uint64_t lanes, std::uint64_t batch, std::uint32_t rows);

}  // namespace mmaudit::device
