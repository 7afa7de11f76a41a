#pragma once
// The products of a step, added to the accumulators of core.cuh.
#include <cstdint>

#include "model/panels.cuh"
#include "model/words.cuh"

namespace mmaudit::device::core {

inline constexpr int kAtOnce = 4;  ///< positions; every step is a multiple of it

/// The low word of x before anything is added.
inline constexpr std::int32_t kMiddle = static_cast<std::int32_t>(0x80000000U);

#if __CUDA_ARCH__ >= 900

/// x with `addend`, cut off toward zero, in it. `high`: its high word but for its sign. It has the addend's
/// sign, so that rounding x toward zero does the same to the addend.
__device__ inline double start_sum(double addend, std::int32_t high) {
  const std::int32_t sign = __double2hiint(addend) & static_cast<std::int32_t>(kSign);
  return __dadd_rz(addend, __hiloint2double(high | sign, kMiddle));
}

enum class Toward : std::uint8_t { minus_infinity, plus_infinity };

/// D = A * B + D, m16n8k8, each fma rounded: `a` of rows lane / 4 and that + 8, of k lane % 4 and then of
/// that + 4. `b` of these k and of column lane / 4. `d` as PTX ISA, "Matrix Fragments for mma.m16n8k8 with
/// .f64".
template <Toward Rounding>
__device__ inline void fma_chain(double& d0, double& d1, double& d2, double& d3, const double (&a)[4],
                                 double b0, double b1) {
  if constexpr (Rounding == Toward::minus_infinity)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64.rm {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64.rp {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
}

/// Of a number by its high word: itself where it is positive (negative), else zero.
__device__ inline double positive(std::uint32_t high) {
  return __hiloint2double(max(static_cast<std::int32_t>(high), 0), 0);
}
__device__ inline double negative(std::uint32_t high) {
  return __hiloint2double(min(static_cast<std::int32_t>(high), 0), 0);
}

/// Positions [first, first + count) of the chunk. Step: count, or 0 where it is not known before.
template <int Step>
__device__ inline void add_products(const Panels& panels, int first, int count,
                                    double (&x)[kRows][kColumns]) {
  constexpr int kNeighbours = 2, kPairs = kRows / kNeighbours, kTiles = kColumns / kNeighbours;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int own = (first + lane % kAtOnce) * kPanelElements;
  const int side = thread_column() - lane % kLanesAcross * kColumns;  // the first column of the warp
  const auto turned = [&](int slot) { return PanelShape::turned(slot, lane); };
  const std::uint32_t *from_a = panels.a.number + own + turned(thread_row()),
                      *from_b = panels.b.number + own + side + turned(lane / kLanesAcross * kTiles);
  std::uint32_t a[kRows], b[kTiles];
  load_shared_words(a, from_a);
  load_shared_words(b, from_b);
#pragma unroll 1
  for (int p = 0; p < count; p += kAtOnce) {
    double split_a[kPairs][4];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
#pragma unroll
      for (int n = 0; n < kNeighbours; ++n) {
        split_a[i][n] = positive(a[kNeighbours * i + n]);
        split_a[i][kNeighbours + n] = negative(a[kNeighbours * i + n]);
      }
    }
    std::uint32_t now[kTiles];
#pragma unroll
    for (int j = 0; j < kTiles; ++j) now[j] = b[j];
    if constexpr (Step != kAtOnce) {  // the next ones; behind the last ones stands the panel's next part
      from_a += kAtOnce * kPanelElements, from_b += kAtOnce * kPanelElements;
      load_shared_words(a, from_a);
      load_shared_words(b, from_b);
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      const double plus = positive(now[j]), minus = negative(now[j]);
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        double(&upper)[kColumns] = x[kNeighbours * i], (&lower)[kColumns] = x[kNeighbours * i + 1];
        fma_chain<Toward::minus_infinity>(upper[2 * j], upper[2 * j + 1], lower[2 * j], lower[2 * j + 1],
                                          split_a[i], plus, minus);
        fma_chain<Toward::plus_infinity>(upper[2 * j], upper[2 * j + 1], lower[2 * j], lower[2 * j + 1],
                                         split_a[i], minus, plus);
      }
    }
  }
}

#else

/// The same, x positive: a negative addend is added between two complements of x's low word, which is to
/// subtract what was cut.
__device__ inline double start_sum(double addend, std::int32_t high) {
  const std::int32_t flip = __double2hiint(addend) >> 31;
  const double x = __dadd_rz(fabs(addend), __hiloint2double(high, kMiddle ^ flip));
  return __hiloint2double(__double2hiint(x), __double2loint(x) ^ flip);
}

/// The same by one fma per product: a negative one is added between two complements of x's low word.
template <int Step>
__device__ inline void add_products(const Panels& panels, int first, int count,
                                    double (&x)[kRows][kColumns]) {
#pragma unroll 1
  for (int p = first; p < first + count; ++p) {
    std::uint32_t a[kRows], b[kColumns];
    load_shared_words(a, panels.a.number + p * kPanelElements + PanelShape::turned(thread_row(), p));
    load_shared_words(b, panels.b.number + p * kPanelElements + PanelShape::turned(thread_column(), p));
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::uint32_t other = b[c % 2 * (kColumns / 2) + c / 2];  // PanelShape::slot_of()
        const std::int32_t flip = static_cast<std::int32_t>(a[r] ^ other) >> 31;
        const auto magnitude = [](std::uint32_t high) {
          return fabs(__hiloint2double(static_cast<std::int32_t>(high), 0));
        };
        const double y = __fma_rz(magnitude(a[r]), magnitude(other),
                                  __hiloint2double(__double2hiint(x[r][c]), __double2loint(x[r][c]) ^ flip));
        x[r][c] = __hiloint2double(__double2hiint(y), __double2loint(y) ^ flip);
      }
    }
  }
}

#endif

}  // namespace mmaudit::device::core
