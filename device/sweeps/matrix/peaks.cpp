// Peak rates as data, dense FMA per clock per multiprocessor.
#include "sweeps/matrix/matrix_benchmark.hpp"

namespace mmaudit::sweeps {
namespace {

struct Peak {
  int compute_capability;
  Format format;  ///< of A
  double fma;
  std::string_view source;
};

constexpr std::string_view kSun = "Sun et al. 2023, Table III, note";
// 989.5, 494.7, 1979 and 66.9 T(FL)OPS at 132 multiprocessors and 1.83 GHz (1.98 GHz for f64).
constexpr std::string_view kHopper = "NVIDIA H100 Tensor Core GPU Architecture, H100 SXM5";

// clang-format off
constexpr Peak kPeaks[] = {
    {80, Format::f16,  1024,  kSun},
    {80, Format::bf16, 1024,  kSun},
    {80, Format::tf32, 512,   kSun},
    {80, Format::s8,   2048,  kSun},
    {80, Format::u8,   2048,  kSun},
    {80, Format::s4,   4096,  kSun},
    {80, Format::u4,   4096,  kSun},
    {80, Format::b1,   16384, kSun},
    {90, Format::f16,  2048,  kHopper},
    {90, Format::bf16, 2048,  kHopper},
    {90, Format::tf32, 1024,  kHopper},
    {90, Format::e4m3, 4096,  kHopper},
    {90, Format::e5m2, 4096,  kHopper},
    {90, Format::s8,   4096,  kHopper},
    {90, Format::u8,   4096,  kHopper},
    {90, Format::f64,  128,   kHopper},
};
// clang-format on

}  // namespace

double peak_fma(int compute_capability, const Instruction& instruction) {
  for (const Peak& peak : kPeaks)
    if (peak.compute_capability == compute_capability && peak.format == instruction.a)
      return is_sparse(instruction.op) ? 2 * peak.fma : peak.fma;
  return 0;
}

}  // namespace mmaudit::sweeps
