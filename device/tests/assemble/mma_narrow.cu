// Assembled for sm_120a and never run: that every line of ptx/mma_narrow.cuh and ptx/mma_sp_narrow.cuh is an
// instruction there. Registers come from memory, so that none can be left out.
#include "ptx/mma_sp_narrow.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_F8F6F4(MMAUDIT_F8F6F4_LINE)
MMAUDIT_MMA_MX8(MMAUDIT_MX8_LINE)
MMAUDIT_MMA_SCALED_E2M1(MMAUDIT_SCALED_LINE)
MMAUDIT_MMA_F8F6F4(MMAUDIT_SP_F8F6F4_LINE)
MMAUDIT_MMA_MX8(MMAUDIT_SP_MX8_LINE)
MMAUDIT_MMA_SP_SCALED_E2M1(MMAUDIT_SP_SCALED_LINE)

namespace {

template <typename Line, int kCount>
__device__ void plain(std::uint32_t*& p) {
  std::uint32_t d[kCount], a[4], b[2];
  for (int i = 0; i < kCount; ++i) d[i] = p[i];
  for (int i = 0; i < 4; ++i) a[i] = p[4 + i];
  for (int i = 0; i < 2; ++i) b[i] = p[8 + i];
  mma<Line>(d, a, b);
  for (int i = 0; i < kCount; ++i) p[i] = d[i];
  p += 12;
}

template <typename Line>
__device__ void with_scales(std::uint32_t*& p) {
  std::uint32_t d[4], a[4], b[2];
  for (int i = 0; i < 4; ++i) d[i] = p[i];
  for (int i = 0; i < 4; ++i) a[i] = p[4 + i];
  for (int i = 0; i < 2; ++i) b[i] = p[8 + i];
  mma_scaled<Line, 0, 0, 0, 0>(d, a, b, p[10], p[11]);
  for (int i = 0; i < 4; ++i) p[i] = d[i];
  p += 12;
}

/// D, A and B of a sparse line; metadata and scales stand behind them.
template <typename Line, int kCount, typename Run>
__device__ void sparse(std::uint32_t*& p, const Run& run) {
  std::uint32_t d[kCount], a[4], b[4];
  for (int i = 0; i < kCount; ++i) d[i] = p[i];
  for (int i = 0; i < 4; ++i) a[i] = p[4 + i];
  for (int i = 0; i < 4; ++i) b[i] = p[8 + i];
  run(d, a, b);
  for (int i = 0; i < kCount; ++i) p[i] = d[i];
  p += 16;
}

template <typename Line, int kCount>
__device__ void sparse_plain(std::uint32_t*& p) {
  sparse<Line, kCount>(p, [&](auto& d, auto& a, auto& b) { mma_sp<Line, 0>(d, a, b, p[12]); });
}

template <typename Line>
__device__ void sparse_with_scales(std::uint32_t*& p) {
  sparse<Line, 4>(
      p, [&](auto& d, auto& a, auto& b) { mma_sp_scaled<Line, 0, 1, 0, 3>(d, a, b, p[12], p[13], p[14]); });
}

template <Format kFormat>
constexpr int kRegisters = kFormat == Format::f16 ? 2 : 4;

}  // namespace

// clang-format off
#define MMAUDIT_CALL(D, A, B) plain<MMAUDIT_F8F6F4_NAME(D, A, B), kRegisters<Format::D>>(p);
#define MMAUDIT_CALL_MX8(...) with_scales<MMAUDIT_MX8_NAME(__VA_ARGS__)>(p);
#define MMAUDIT_CALL_SCALED(...) with_scales<MMAUDIT_SCALED_NAME(__VA_ARGS__)>(p);
#define MMAUDIT_CALL_SP(D, A, B) sparse_plain<MMAUDIT_SP_F8F6F4_NAME(D, A, B), kRegisters<Format::D>>(p);
#define MMAUDIT_CALL_SP_MX8(...) sparse_with_scales<MMAUDIT_SP_MX8_NAME(__VA_ARGS__)>(p);
#define MMAUDIT_CALL_SP_SCALED(...) sparse_with_scales<MMAUDIT_SP_SCALED_NAME(__VA_ARGS__)>(p);
// clang-format on

__global__ void every_line(std::uint32_t* p) {
  MMAUDIT_MMA_F8F6F4(MMAUDIT_CALL)
  MMAUDIT_MMA_MX8(MMAUDIT_CALL_MX8)
  MMAUDIT_MMA_SCALED_E2M1(MMAUDIT_CALL_SCALED)
  MMAUDIT_MMA_F8F6F4(MMAUDIT_CALL_SP)
  MMAUDIT_MMA_MX8(MMAUDIT_CALL_SP_MX8)
  MMAUDIT_MMA_SP_SCALED_E2M1(MMAUDIT_CALL_SP_SCALED)
}

}  // namespace mmaudit::device
