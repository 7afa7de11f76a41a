#pragma once
// wmma on a batch of tiles: one warp per tile, through shared memory in the layouts that the modifiers ask
// for.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "kernels/fragments.cuh"
#include "kernels/wmma_layout.hpp"
#include "mmaudit/emulate.hpp"
#include "ptx/wmma_lists.cuh"

namespace mmaudit::device {

inline constexpr int kWmmaWarps = 4;

/// Matrices and register counts of one line, as constants that device code may name.
template <typename Line>
struct Wmma {
  static constexpr Instruction kIs = Line::kInstruction;
  static constexpr WmmaMatrix kA = wmma_matrix(kIs, WmmaOperand::a), kB = wmma_matrix(kIs, WmmaOperand::b),
                              kC = wmma_matrix(kIs, WmmaOperand::c), kD = wmma_matrix(kIs, WmmaOperand::d);
  static constexpr int kRegistersA = wmma_registers(kIs, WmmaOperand::a),
                       kRegistersB = wmma_registers(kIs, WmmaOperand::b),
                       kRegistersC = wmma_registers(kIs, WmmaOperand::c),
                       kRegistersD = wmma_registers(kIs, WmmaOperand::d);
  static constexpr bool kAnyLayout = wmma_any_layout(kIs);
  static constexpr int kBytesA = kAnyLayout ? kA.most_bytes() : kA.bytes(false),
                       kBytesB = kAnyLayout ? kB.most_bytes() : kB.bytes(true),
                       kBytesC = kC.most_bytes() > kD.most_bytes() ? kC.most_bytes() : kD.most_bytes();
};

/// A row-major global tile into lines of shared memory; elements below a byte are packed, low bits first.
template <typename Element>
__device__ __forceinline__ void fill_lines(unsigned char* shared, const Element* tile,
                                           const WmmaMatrix& matrix, bool column_major, int lane) {
  const int lines = column_major ? matrix.cols : matrix.rows,
            along = column_major ? matrix.rows : matrix.cols;
  const int pitch = matrix.pitch(column_major);
  if (matrix.bits >= 8) {
    for (int i = lane; i < lines * along; i += kWarpLanes) {
      const int row = i / matrix.cols, col = i % matrix.cols;
      const int line = column_major ? col : row, position = column_major ? row : col;
      *reinterpret_cast<Element*>(shared + line * pitch + position * static_cast<int>(sizeof(Element))) =
          tile[i];
    }
    return;
  }
  const int each = 8 / matrix.bits, bytes = along / each;
  for (int i = lane; i < lines * bytes; i += kWarpLanes) {
    const int line = i / bytes, byte = i % bytes;
    unsigned packed = 0;
    for (int e = 0; e < each; ++e) {
      const int position = byte * each + e;
      const int at = column_major ? position * matrix.cols + line : line * matrix.cols + position;
      packed |= (static_cast<unsigned>(tile[at]) & ((1U << matrix.bits) - 1)) << (matrix.bits * e);
    }
    shared[line * pitch + byte] = static_cast<unsigned char>(packed);
  }
}

template <typename Element>
__device__ __forceinline__ void read_lines(Element* tile, const unsigned char* shared,
                                           const WmmaMatrix& matrix, bool column_major, int lane) {
  const int pitch = matrix.pitch(column_major);
  for (int i = lane; i < matrix.rows * matrix.cols; i += kWarpLanes) {
    const int row = i / matrix.cols, col = i % matrix.cols;
    const int line = column_major ? col : row, position = column_major ? row : col;
    tile[i] = *reinterpret_cast<const Element*>(shared + line * pitch +
                                                position * static_cast<int>(sizeof(Element)));
  }
}

/// A layout known at run time.
template <typename Operand, bool kEither = true, bool kColumnMajor = false, typename Register, int kCount>
__device__ __forceinline__ void load_operand(Register (&x)[kCount], const unsigned char* shared,
                                             const WmmaMatrix& matrix, bool column_major) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const int stride = matrix.pitch(column_major) * 8 / matrix.bits;
  if constexpr (!kEither) {
    if constexpr (kColumnMajor)
      wmma_load<Operand, ColumnMajor>(x, address, stride);
    else
      wmma_load<Operand, RowMajor>(x, address, stride);
  } else if (column_major) {
    wmma_load<Operand, ColumnMajor>(x, address, stride);
  } else {
    wmma_load<Operand, RowMajor>(x, address, stride);
  }
}

template <typename Operand, typename Register, int kCount>
__device__ __forceinline__ void store_operand(const Register (&x)[kCount], unsigned char* shared,
                                              const WmmaMatrix& matrix, bool column_major) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const int stride = matrix.pitch(column_major) * 8 / matrix.bits;
  if (column_major)
    wmma_store<Operand, ColumnMajor>(x, address, stride);
  else
    wmma_store<Operand, RowMajor>(x, address, stride);
}

/// D = A * B + C, `repetitions` times; from the second on, C is the last D where the two have one format.
template <typename Line, typename LayoutA, typename LayoutB, typename Register, int kD, int kA, int kB,
          int kC>
__device__ __forceinline__ void repeat_wmma(Register (&d)[kD], const Register (&a)[kA],
                                            const Register (&b)[kB], Register (&c)[kC], int repetitions) {
#pragma unroll 1
  for (int r = 0; r < repetitions; ++r) {
    wmma_mma<Line, LayoutA, LayoutB>(d, a, b, c);
    if constexpr (kC == kD) {
#pragma unroll
      for (int i = 0; i < kC; ++i) c[i] = d[i];
    }
  }
}

template <typename Line>
__global__ void __launch_bounds__(kWmmaWarps* kWarpLanes) wmma_kernel(const KernelArgs args) {
  using W = Wmma<Line>;
  constexpr Instruction kIs = Line::kInstruction;
  if constexpr (kTargetCapability < kIs.min_compute_capability) {
    __trap();
  } else {
    constexpr WmmaMatrix kA = W::kA, kB = W::kB, kC = W::kC, kD = W::kD;
    __shared__ alignas(32) unsigned char shared_a[kWmmaWarps][W::kBytesA];
    __shared__ alignas(32) unsigned char shared_b[kWmmaWarps][W::kBytesB];
    __shared__ alignas(32) unsigned char shared_c[kWmmaWarps][W::kBytesC];
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes,
              warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    const bool a_columns = (args.modifiers & kTransposeA) != 0,
               b_columns = (args.modifiers & kTransposeB) == 0,
               c_columns = (args.modifiers & kTransposeC) != 0;
    for (unsigned i = blockIdx.x * kWmmaWarps + static_cast<unsigned>(warp); i < args.tiles;
         i += gridDim.x * kWmmaWarps) {
      const TileIndices tile = tile_indices(args, args.tile_index != nullptr ? args.tile_index[i] : i);
      fill_lines(shared_a[warp], static_cast<const ElementOf<kIs.a>*>(args.a) + tile.a * kIs.m * kIs.k, kA,
                 a_columns, lane);
      fill_lines(shared_b[warp], static_cast<const ElementOf<kIs.b>*>(args.b) + tile.b * kIs.k * kIs.n, kB,
                 b_columns, lane);
      if (args.c != nullptr)
        fill_lines(shared_c[warp], static_cast<const ElementOf<kIs.c>*>(args.c) + tile.c * kIs.m * kIs.n, kC,
                   c_columns, lane);
      __syncwarp();
      RegisterOf<kIs.a> a[W::kRegistersA];
      RegisterOf<kIs.b> b[W::kRegistersB];
      RegisterOf<kIs.c> c[W::kRegistersC] = {};
      RegisterOf<kIs.d> d[W::kRegistersD] = {};
      load_operand<typename Line::LoadA, W::kAnyLayout, false>(a, shared_a[warp], kA, a_columns);
      load_operand<typename Line::LoadB, W::kAnyLayout, true>(b, shared_b[warp], kB, b_columns);
      if (args.c != nullptr) load_operand<typename Line::LoadC>(c, shared_c[warp], kC, c_columns);
      if constexpr (W::kAnyLayout) {
        if (a_columns && b_columns)
          repeat_wmma<Line, ColumnMajor, ColumnMajor>(d, a, b, c, args.repetitions);
        else if (a_columns)
          repeat_wmma<Line, ColumnMajor, RowMajor>(d, a, b, c, args.repetitions);
        else if (b_columns)
          repeat_wmma<Line, RowMajor, ColumnMajor>(d, a, b, c, args.repetitions);
        else
          repeat_wmma<Line, RowMajor, RowMajor>(d, a, b, c, args.repetitions);
      } else {
        repeat_wmma<Line, RowMajor, ColumnMajor>(d, a, b, c, args.repetitions);
      }
      __syncwarp();  // C is read before D takes its place
      store_operand<typename Line::StoreD>(d, shared_c[warp], kD, c_columns);
      __syncwarp();
      read_lines(static_cast<ElementOf<kIs.d>*>(args.d) + tile.d * kIs.m * kIs.n, shared_c[warp], kD,
                 c_columns, lane);
      __syncwarp();  // before the next tile overwrites it
    }
  }
}

/// One warp. Loads: `image` (lines in memory) into registers. Operand d: the other way round.
template <typename Line>
__global__ void __launch_bounds__(kWarpLanes) wmma_fragment_kernel(const FragmentArgs args) {
  using W = Wmma<Line>;
  constexpr Instruction kIs = Line::kInstruction;
  if constexpr (kTargetCapability < kIs.min_compute_capability) {
    __trap();
  } else {
    constexpr int kMost = W::kBytesA > W::kBytesB ? W::kBytesA : W::kBytesB;
    constexpr WmmaMatrix kA = W::kA, kB = W::kB, kC = W::kC, kD = W::kD;
    __shared__ alignas(32) unsigned char shared[kMost > W::kBytesC ? kMost : W::kBytesC];
    for (int i = static_cast<int>(threadIdx.x); i < args.image_bytes; i += kWarpLanes)
      shared[i] = args.image[i];
    __syncwarp();
    const auto out = [&](const auto& x, int count) {
      auto* words = reinterpret_cast<RegisterOf<kIs.a>*>(args.registers);
      for (int r = 0; r < count; ++r) words[static_cast<int>(threadIdx.x) * count + r] = x[r];
    };
    if (args.operand == static_cast<int>(WmmaOperand::a)) {
      RegisterOf<kIs.a> x[W::kRegistersA];
      load_operand<typename Line::LoadA, W::kAnyLayout, false>(x, shared, kA, args.column_major);
      out(x, W::kRegistersA);
    } else if (args.operand == static_cast<int>(WmmaOperand::b)) {
      RegisterOf<kIs.b> x[W::kRegistersB];
      load_operand<typename Line::LoadB, W::kAnyLayout, true>(x, shared, kB, args.column_major);
      out(x, W::kRegistersB);
    } else if (args.operand == static_cast<int>(WmmaOperand::c)) {
      RegisterOf<kIs.c> x[W::kRegistersC];
      load_operand<typename Line::LoadC>(x, shared, kC, args.column_major);
      out(x, W::kRegistersC);
    } else {
      RegisterOf<kIs.d> x[W::kRegistersD];
      const auto* words = reinterpret_cast<const RegisterOf<kIs.d>*>(args.registers);
      for (int r = 0; r < W::kRegistersD; ++r)
        x[r] = words[static_cast<int>(threadIdx.x) * W::kRegistersD + r];
      store_operand<typename Line::StoreD>(x, shared, kD, args.column_major);
      __syncwarp();
      for (int i = static_cast<int>(threadIdx.x); i < args.image_bytes; i += kWarpLanes)
        args.image[i] = shared[i];
    }
  }
}

template <typename Line>
KernelEntry wmma_entry() {
  return {Line::kInstruction, kWmmaWarps,
          [](const KernelArgs& args, unsigned blocks) {
            wmma_kernel<Line><<<blocks, kWmmaWarps * kWarpLanes>>>(args);
          },
          reinterpret_cast<const void*>(wmma_kernel<Line>),
          [](const FragmentArgs& args) { wmma_fragment_kernel<Line><<<1, kWarpLanes>>>(args); }};
}

}  // namespace mmaudit::device
