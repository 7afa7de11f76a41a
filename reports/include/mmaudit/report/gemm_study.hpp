#pragma once
// Error levels of whole products against K, for every dtype, accumulation and distribution. docs/audit.md.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/gemm_errors.hpp"

namespace mmaudit::report {

enum class Distribution : std::uint8_t {
  normal,            ///< N(0, 1)
  uniform,           ///< of [-1, 1]
  log_normal,        ///< exp(N(0, 1)), either sign
  student_t3,        ///< Student's t with 3 degrees of freedom: heavy tails
  outlier_channels,  ///< N(0, 1); about 1 in 100 k of A 50 times larger, all rows alike
  relu               ///< A max(0, N(0, 1)), B N(0, 1)
};
inline constexpr Distribution kDistributions[] = {Distribution::normal,           Distribution::uniform,
                                                  Distribution::log_normal,       Distribution::student_t3,
                                                  Distribution::outlier_channels, Distribution::relu};
std::string_view name_of(Distribution distribution);

/// Elements of A (m, k) and B (k, n), rounded to binary32. Element (i, k) depends on the seed, i, k, m and n
/// alone: a shorter k is the beginning of a longer one.
std::vector<double> draw_a(Distribution distribution, std::uint64_t m, std::uint64_t k, std::uint64_t seed);
std::vector<double> draw_b(Distribution distribution, std::uint64_t k, std::uint64_t n, std::uint64_t seed);

struct GemmPoint {
  std::uint64_t k = 0;
  CastCounts cast_a, cast_b;
  GemmErrors errors;
};

struct GemmCurve : GemmSubject {
  Distribution distribution = Distribution::normal;
  std::vector<GemmPoint> points;  ///< ascending k
};

struct GemmStudy {
  std::uint64_t rows = 0, columns = 0, seed = 0;  ///< elements of every product
  std::string method;                             ///< a few sentences
  std::vector<GemmCurve> curves;
  std::vector<std::string> left_out;  ///< combinations that the architecture can't do, with the reason
};

struct GemmStudyOptions {
  std::vector<std::uint64_t> depths = {16,   32,   64,   128,   256,   512,  1024,
                                       2048, 4096, 8192, 16384, 32768, 65536};
  std::uint64_t rows = 8, columns = 32, seed = 1;
  /// Dtypes that no vector code serves go no deeper.
  std::uint64_t slow_depth = 4096;
  unsigned threads = 0;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// What: every dtype of gemm_dtypes() and accumulation (plain, promotion every 32 to 256, split-K 2 to 8,
/// binary16 accumulators) that `architecture` has, by the model; each dtype with its usual scaling. The same
/// for any number of threads.
GemmStudy study_gemm(const Architecture& architecture, const GemmStudyOptions& options = {});

}  // namespace mmaudit::report
