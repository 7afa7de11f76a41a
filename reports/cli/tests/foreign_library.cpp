// Functions of a user, good and bad, for probe_command_test.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {

/// D = A * B of binary32, one fused multiply-add after another.
int good(std::uint64_t m, std::uint64_t n, std::uint64_t k, const void* a, const void* b, const void* /*c*/,
         void* d) {
  const auto* x = static_cast<const float*>(a);
  const auto* y = static_cast<const float*>(b);
  std::printf("what a function prints is no result\n");
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::uint64_t p = 0; p < k; ++p) sum = __builtin_fmaf(x[i * k + p], y[p * n + j], sum);
      static_cast<float*>(d)[i * n + j] = sum;
    }
  return 0;
}

/// The same plus half of C.
int adds_half_of_c(std::uint64_t m, std::uint64_t n, std::uint64_t k, const void* a, const void* b,
                   const void* c, void* d) {
  good(m, n, k, a, b, nullptr, d);
  for (std::uint64_t i = 0; i < m * n; ++i)
    static_cast<float*>(d)[i] += 0.5F * static_cast<const float*>(c)[i];
  return 0;
}

/// The same without the last bit.
int clears_a_bit(std::uint64_t m, std::uint64_t n, std::uint64_t k, const void* a, const void* b,
                 const void* /*c*/, void* d) {
  good(m, n, k, a, b, nullptr, d);
  for (std::uint64_t i = 0; i < m * n; ++i) static_cast<std::uint32_t*>(d)[i] &= ~std::uint32_t{1};
  return 0;
}

// Every product rounded before it is added: no matrix unit does that in binary32.
int rounds_products(std::uint64_t m, std::uint64_t n, std::uint64_t k, const void* a, const void* b,
                    const void* /*c*/, void* d) {
  const auto* x = static_cast<const float*>(a);
  const auto* y = static_cast<const float*>(b);
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::uint64_t p = 0; p < k; ++p) sum += x[i * k + p] * y[p * n + j];
      static_cast<float*>(d)[i * n + j] = sum;
    }
  return 0;
}

int says_seven(std::uint64_t, std::uint64_t, std::uint64_t, const void*, const void*, const void*, void*) {
  return 7;
}
int aborts(std::uint64_t, std::uint64_t, std::uint64_t, const void*, const void*, const void*, void*) {
  std::abort();
}
int exits(std::uint64_t, std::uint64_t, std::uint64_t, const void*, const void*, const void*, void*) {
  _exit(5);
}
int hangs(std::uint64_t, std::uint64_t, std::uint64_t, const void*, const void*, const void*, void*) {
  while (true) pause();
}

/// mma.m8n8k4 of binary64: fma(a, b, sum) in ascending k.
int fused_f64(std::uint64_t tiles, const void* a, const void* b, const void* c, const void*, const void*,
              const void*, void* d) {
  const auto* x = static_cast<const double*>(a);
  const auto* y = static_cast<const double*>(b);
  for (std::uint64_t t = 0; t < tiles; ++t)
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        double sum = static_cast<const double*>(
            c)[(t * 8 + static_cast<std::uint64_t>(i)) * 8 + static_cast<std::uint64_t>(j)];
        for (int p = 0; p < 4; ++p)
          sum = __builtin_fma(x[t * 32 + static_cast<std::uint64_t>(i * 4 + p)],
                              y[t * 32 + static_cast<std::uint64_t>(p * 8 + j)], sum);
        static_cast<double*>(d)[t * 64 + static_cast<std::uint64_t>(i * 8 + j)] = sum;
      }
  return 0;
}
}
