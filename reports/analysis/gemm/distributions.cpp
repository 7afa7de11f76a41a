#include <cmath>
#include <numbers>

#include "mmaudit/name_in.hpp"
#include "mmaudit/report/gemm_study.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::report {
namespace {

/// Box and Muller 1958.
double normal(const PlacedDraws& draws, std::uint64_t place) {
  return std::sqrt(-2 * std::log(draws.uniform(2 * place))) *
         std::cos(2 * std::numbers::pi * draws.uniform(2 * place + 1));
}

/// Bailey 1994, "Polar generation of random variates with the t-distribution".
double student_t3(const PlacedDraws& draws, std::uint64_t place) {
  constexpr double kFreedom = 3;
  return std::sqrt(kFreedom * (std::pow(draws.uniform(2 * place), -2 / kFreedom) - 1)) *
         std::cos(2 * std::numbers::pi * draws.uniform(2 * place + 1));
}

double one(Distribution distribution, const PlacedDraws& draws, std::uint64_t place) {
  switch (distribution) {
    case Distribution::uniform:
      return 2 * draws.uniform(place) - 1;
    case Distribution::log_normal:
      return std::copysign(std::exp(normal(draws, place)), draws.uniform(~place) - 0.5);
    case Distribution::student_t3:
      return student_t3(draws, place);
    case Distribution::normal:
    case Distribution::outlier_channels:
    case Distribution::relu:
      break;
  }
  return normal(draws, place);
}

double to_binary32(double x) { return static_cast<double>(static_cast<float>(x)); }

}  // namespace

std::string_view name_of(Distribution distribution) {
  constexpr std::string_view kNames[] = {"normal",     "uniform",          "log-normal",
                                         "Student t3", "outlier channels", "post-ReLU"};
  return name_in(kNames, distribution);
}

std::vector<double> draw_a(Distribution distribution, std::uint64_t m, std::uint64_t k, std::uint64_t seed) {
  constexpr double kOutliers = 0.01, kOutlierFactor = 50;
  const PlacedDraws draws(2 * seed), channels(mixed(seed));
  std::vector<double> a(m * k);
  for (std::uint64_t at = 0; at < k; ++at) {
    const bool outlier = distribution == Distribution::outlier_channels && channels.uniform(at) < kOutliers;
    for (std::uint64_t i = 0; i < m; ++i) {
      double x = one(distribution, draws, at * m + i);
      if (outlier) x *= kOutlierFactor;
      if (distribution == Distribution::relu && x < 0) x = 0;
      a[i * k + at] = to_binary32(x);
    }
  }
  return a;
}

std::vector<double> draw_b(Distribution distribution, std::uint64_t k, std::uint64_t n, std::uint64_t seed) {
  const PlacedDraws draws(2 * seed + 1);
  std::vector<double> b(k * n);
  for (std::uint64_t e = 0; e < b.size(); ++e) b[e] = to_binary32(one(distribution, draws, e));
  return b;
}

}  // namespace mmaudit::report
