#pragma once
// What of cuBLAS 12 and 13 is called: types and numbers as cublasLt.h and cublas_api.h have them, so that no
// header of the library is needed. Both libraries keep them stable within and across these major versions.
#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mmaudit::device::cublas {

using Handle = void*;
using Desc = void*;
using Layout = void*;
using Preference = void*;

struct Algo {
  std::uint64_t data[8];
};
struct HeuristicResult {
  Algo algo;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

// Operations, compute types, math modes, attributes of a product and of a preference, by their numbers.
inline constexpr int kNormal = 0, kTransposed = 1;
inline constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kCompute32FTf32 = 77;
inline constexpr int kDefaultMath = 0, kTf32Math = 3, kNoReducedReduction = 16;
inline constexpr int kTransA = 3, kTransB = 4, kEpilogue = 7, kBias = 8, kScaleA = 17, kScaleB = 18,
                     kFastAccum = 25, kBiasType = 26;
inline constexpr int kRelu = 2, kAddBias = 4, kGelu = 32;  ///< of kEpilogue; their sum where there are both
inline constexpr int kBatchCount = 5, kBatchStride = 6;    ///< of a layout
inline constexpr int kMaxWorkspace = 1, kAlignA = 5, kAlignB = 6, kAlignC = 7, kAlignD = 8;
inline constexpr int kNumericalFlags = 15;  ///< CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS
inline constexpr int kDefaultAlgorithm = -1,
                     kDefaultTensorOp = 99;  ///< of cublasGemmEx: CUBLAS_GEMM_DEFAULT...
inline constexpr int kLogTrace = 5;

/// An attribute of an algorithm: its name here, its number and its bytes.
struct AlgoAttribute {
  const char* name;
  int id;
  std::size_t bytes;
};
inline constexpr AlgoAttribute kAlgoAttributes[] = {
    {"id", 0, 4},     {"tile", 1, 4},   {"split_k", 2, 4},     {"reduction", 3, 4}, {"swizzle", 4, 4},
    {"custom", 5, 4}, {"stages", 6, 4}, {"inner_shape", 7, 2}, {"cluster", 8, 2}};

/// The functions; `why` says what is missing.
struct Api {
  int (*lt_create)(Handle*);
  int (*lt_destroy)(Handle);
  std::size_t (*lt_version)();
  int (*lt_matmul)(Handle, Desc, const void*, const void*, Layout, const void*, Layout, const void*,
                   const void*, Layout, void*, Layout, const Algo*, void*, std::size_t, void*);
  int (*lt_heuristic)(Handle, Desc, Layout, Layout, Layout, Layout, Preference, int, HeuristicResult*, int*);
  int (*lt_attribute)(const Algo*, int, void*, std::size_t, std::size_t*);
  int (*lt_capability)(const Algo*, int, void*, std::size_t, std::size_t*);
  int (*desc_create)(Desc*, int, cudaDataType_t);
  int (*desc_destroy)(Desc);
  int (*desc_set)(Desc, int, const void*, std::size_t);
  int (*layout_create)(Layout*, cudaDataType_t, std::uint64_t, std::uint64_t, std::int64_t);
  int (*layout_destroy)(Layout);
  int (*layout_set)(Layout, int, const void*, std::size_t);
  int (*preference_create)(Preference*);
  int (*preference_destroy)(Preference);
  int (*preference_set)(Preference, int, const void*, std::size_t);
  int (*log_callback)(void (*)(int, const char*, const char*));
  int (*log_level)(int);
  int (*log_file)(std::FILE*);
  int (*create)(Handle*);
  int (*version)(Handle, int*);
  int (*destroy)(Handle);
  int (*set_stream)(Handle, void*);
  int (*set_workspace)(Handle, void*, std::size_t);
  int (*set_math_mode)(Handle, int);
  int (*gemm_ex)(Handle, int, int, int, int, int, const void*, const void*, cudaDataType_t, int, const void*,
                 cudaDataType_t, int, const void*, void*, cudaDataType_t, int, int, int);
  int (*gemm_batched)(Handle, int, int, int, int, int, const void*, const void*, cudaDataType_t, int,
                      long long, const void*, cudaDataType_t, int, long long, const void*, void*,
                      cudaDataType_t, int, long long, int, int, int);
  std::string name;  ///< of the file of cublasGemmEx: "libcublas.so.13"
  std::string why;
};

/// Owns what a create function of the library makes.
class Owned {
 public:
  explicit Owned(int (*destroy)(void*)) : destroy_(destroy) {}
  ~Owned() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  void** put() { return &handle_; }
  [[nodiscard]] void* get() const { return handle_; }

 private:
  void* handle_ = nullptr;
  int (*destroy_)(void*);
};

/// Found once; cublasGemmEx' own part may be missing: `create` is null then.
const Api& api();

}  // namespace mmaudit::device::cublas
