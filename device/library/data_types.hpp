#pragma once
// Formats, sums and factors as cuBLAS names and reads them.
#include <library_types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "library/cublas_abi.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::device {

struct DataType {
  Format format;
  cudaDataType_t number;
};
inline constexpr DataType kDataTypes[] = {
    {Format::f16, CUDA_R_16F},      {Format::bf16, CUDA_R_16BF}, {Format::tf32, CUDA_R_32F},
    {Format::f32, CUDA_R_32F},      {Format::f64, CUDA_R_64F},   {Format::e4m3, CUDA_R_8F_E4M3},
    {Format::e5m2, CUDA_R_8F_E5M2}, {Format::s8, CUDA_R_8I},     {Format::s32, CUDA_R_32I}};
inline cudaDataType_t data_type(Format format) {
  std::vector<std::string> allowed;
  for (const DataType& each : kDataTypes) {
    if (each.format == format) return each.number;
    allowed.emplace_back(name_of(each.format));
  }
  refuse("type: found {}, allowed: {}", name_of(format), allowed);
}

/// What sums are made in, by cuBLASLt's and by cublasGemmEx' numbers, and the type of alpha and beta.
struct Compute {
  int of_lt, of_ex;
  cudaDataType_t scale;
};
inline Compute compute_of(const GemmProblem& x) {
  switch (x.type) {
    case Format::s8:
      return {cublas::kCompute32I, cublas::kCompute32I, CUDA_R_32I};
    case Format::f64:
      return {cublas::kCompute64F, cublas::kCompute64F, CUDA_R_64F};
    case Format::tf32:
      return {cublas::kCompute32FTf32, cublas::kCompute32F, CUDA_R_32F};
    default:
      return {cublas::kCompute32F, cublas::kCompute32F, CUDA_R_32F};
  }
}

/// A factor in the type that the library reads.
class Factor {
 public:
  Factor(double value, cudaDataType_t type)
      : type_(type),
        wide_(value),
        single_(static_cast<float>(value)),
        integer_(static_cast<std::int32_t>(value)) {}
  [[nodiscard]] const void* get() const {
    if (type_ == CUDA_R_64F) return &wide_;
    if (type_ == CUDA_R_32I) return &integer_;
    return &single_;
  }

 private:
  cudaDataType_t type_;
  double wide_;
  float single_;
  std::int32_t integer_;
};

}  // namespace mmaudit::device
