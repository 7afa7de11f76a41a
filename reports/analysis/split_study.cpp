// What the programs of Sun et al. 2023 measure and no table prints: a tile's error by one instruction, and by
// two of half its depth, the second onto the sum of the first.
#include <cmath>

#include "mmaudit/report/audit.hpp"
#include "normal_draws.hpp"
#include "tiles.hpp"

namespace mmaudit::report {
namespace {

struct Depths {
  std::string_view whole, half;
};
constexpr Depths kDepths[] = {
    {"mma.m16n8k8.f32.tf32.tf32.f32", "mma.m16n8k4.f32.tf32.tf32.f32"},
    {"mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k8.f32.bf16.bf16.f32"},
    {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.f16.f16.f32"},
};
constexpr std::size_t kRounds = 1000;

/// A and B of every round, one round after another.
struct Draws {
  std::size_t m, n, k;
  std::vector<float> a, b;
};

Draws draw(const Instruction& inst, Initialisation init) {
  Draws draws{static_cast<std::size_t>(inst.m),
              static_cast<std::size_t>(inst.n),
              static_cast<std::size_t>(inst.k),
              {},
              {}};
  NormalDraws next(kPublishedSeed);
  const auto take = [&](std::vector<float>& to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      to.push_back(init == Initialisation::fp32 ? next() : cast_draw(next(), inst.a));
  };
  for (std::size_t round = 0; round < kRounds; ++round) {
    take(draws.a, draws.m * draws.k);
    take(draws.b, draws.k * draws.n);
  }
  return draws;
}

/// The programs' CPU loop: binary32, products added to 0 in ascending k.
std::vector<double> on_cpu(const Draws& draws) {
  std::vector<double> d;
  for (std::size_t round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < draws.m; ++i)
      for (std::size_t j = 0; j < draws.n; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < draws.k; ++k)
          sum += draws.a[(round * draws.m + i) * draws.k + k] * draws.b[(round * draws.k + k) * draws.n + j];
        d.push_back(sum);
      }
  return d;
}

/// As many instructions as their depth asks for, each onto the sum of the one before.
std::vector<double> by(const Instruction& inst, const Backend& backend, const Draws& draws) {
  TileBatch tiles(inst, kRounds);
  TileMatrix a = a_of(tiles), b = b_of(tiles), c = c_of(tiles);
  const TileMatrix d = d_of(tiles);
  const CastRule load = published_casts(inst.a).load;
  const auto depth = static_cast<std::size_t>(inst.k);
  std::vector<double> sums(kRounds * draws.m * draws.n);
  const auto for_each = [&](const auto& act) {
    for (std::size_t at = 0; at < sums.size(); ++at)
      act(at, at / (draws.m * draws.n), at / draws.n % draws.m, at % draws.n);
  };
  for (std::size_t first = 0; first < draws.k; first += depth) {
    for (std::size_t round = 0; round < kRounds; ++round)
      for (std::size_t k = 0; k < depth; ++k) {
        for (std::size_t i = 0; i < draws.m; ++i)
          a.set(round, i, k, draws.a[(round * draws.m + i) * draws.k + first + k], load);
        for (std::size_t j = 0; j < draws.n; ++j)
          b.set(round, k, j, draws.b[(round * draws.k + first + k) * draws.n + j], load);
      }
    for_each([&](std::size_t at, std::size_t round, std::size_t i, std::size_t j) {
      c.set(round, i, j, sums[at]);
    });
    backend.run(inst, tiles.view());
    for_each([&](std::size_t at, std::size_t round, std::size_t i, std::size_t j) {
      sums[at] = d.get(round, i, j);
    });
  }
  return sums;
}

/// The mean over the rounds; equation (1) of the paper divides by the norm of the tensor core's result.
double relative_l2(const std::vector<double>& d, const std::vector<double>& reference) {
  double all = 0;
  const std::size_t elements = d.size() / kRounds;
  for (std::size_t round = 0; round < kRounds; ++round) {
    double difference = 0, norm = 0;
    for (std::size_t i = round * elements; i < (round + 1) * elements; ++i) {
      difference += (d[i] - reference[i]) * (d[i] - reference[i]);
      norm += d[i] * d[i];
    }
    all += std::sqrt(difference / norm);
  }
  return all / kRounds;
}

}  // namespace

std::vector<SplitError> split_study(const Backend& backend) {
  std::vector<SplitError> errors;
  for (const Depths& depths : kDepths) {
    const auto whole = find_instruction(depths.whole), half = find_instruction(depths.half);
    if (!whole || !half || !backend.why_not(*whole, 0).empty() || !backend.why_not(*half, 0).empty())
      continue;
    for (const Initialisation init : {Initialisation::low, Initialisation::fp32}) {
      const Draws draws = draw(*whole, init);
      const std::vector<double> reference = on_cpu(draws), d = by(*whole, backend, draws),
                                split = by(*half, backend, draws);
      SplitError& error = errors.emplace_back();
      error.instruction = name_of(*whole);
      error.half = name_of(*half);
      error.init = init;
      error.error = relative_l2(d, reference);
      error.split_error = relative_l2(split, reference);
      error.elements = d.size();
      for (std::size_t i = 0; i < d.size(); ++i) error.differing += d[i] != split[i] ? 1U : 0U;
    }
  }
  return errors;
}

}  // namespace mmaudit::report
