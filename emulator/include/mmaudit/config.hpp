#pragma once
// The only place that knows whether a CUDA compiler is reading: everything marked MMAUDIT_HD is the same
// constexpr code on the host and in kernels.
#ifdef __CUDACC__
#define MMAUDIT_HD __host__ __device__
#define MMAUDIT_INLINE __forceinline__
#else
#define MMAUDIT_HD
#define MMAUDIT_INLINE [[gnu::always_inline]] inline
#endif

/// Leading zeros of a non-zero 64-bit integer as one instruction, outside constant evaluation.
#ifdef __CUDA_ARCH__
#define MMAUDIT_COUNT_LEADING_ZEROS(x) __clzll(static_cast<long long>(x))
#else
#define MMAUDIT_COUNT_LEADING_ZEROS(x) __builtin_clzll(x)
#endif
