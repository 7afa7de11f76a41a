// Sun et al. 2023, section 8.2 and Figure 17: how the error grows along a chain of multiplications.
#include <algorithm>
#include <cmath>
#include <optional>

#include "mmaudit/report/audit.hpp"
#include "normal_draws.hpp"
#include "tiles.hpp"

namespace mmaudit::report {
namespace {

constexpr std::string_view kPublishedChains[] = {
    "mma.m16n8k8.f32.tf32.tf32.f32", "mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32"};

constexpr std::size_t kM = 16, kN = 8, kK = 8;
static_assert(kN == kK, "D has the shape of the next A");
constexpr std::size_t kA = kM * kK, kB = kK * kN, kD = kM * kN;

/// What one round of the authors' programs consumes for a chain of `length`: A, the first B, and a B after
/// every link, the last one included although nothing uses it.
std::size_t draws_of_round(int length) { return kA + kB * (static_cast<std::size_t>(length) + 1); }

std::vector<float> draw_all(int rounds, int length) {
  std::vector<float> draws(static_cast<std::size_t>(rounds) * draws_of_round(length));
  NormalDraws next(kPublishedSeed);
  std::generate(draws.begin(), draws.end(), [&] { return next(); });
  return draws;
}

/// d = a * b as the programs' CPU loop does it: binary32, products added to 0 in ascending k.
void multiply_on_cpu(const float* a, const float* b, float* d) {
  for (std::size_t i = 0; i < kM; ++i) {
    float sums[kN] = {};
    for (std::size_t k = 0; k < kK; ++k)
      for (std::size_t j = 0; j < kN; ++j) sums[j] += a[i * kK + k] * b[k * kN + j];
    std::copy(sums, sums + kN, d + i * kN);
  }
}

/// The chains of all rounds in step, so that every link is one batch.
class Chains {
 public:
  Chains(const Chains&) = delete;  // a_ and b_ refer to tiles_
  Chains& operator=(const Chains&) = delete;

  Chains(const Instruction& instruction, Initialisation init, const std::vector<float>& draws, int rounds,
         int length)
      : instruction_(instruction),
        load_(published_casts(instruction.a).load),
        init_(init),
        draws_(draws),
        rounds_(static_cast<std::size_t>(rounds)),
        stride_(draws_of_round(length)),
        tiles_(instruction, rounds_),
        a_(a_of(tiles_)),
        b_(b_of(tiles_)),
        cpu_a_(rounds_ * kA),
        tensor_a_(rounds_ * kA) {
    for (std::size_t round = 0; round < rounds_; ++round)
      for (std::size_t i = 0; i < kA; ++i) {
        const float value = drawn(round, i);
        cpu_a_[round * kA + i] = value;
        tensor_a_[round * kA + i] = value;
      }
  }

  /// One more multiplication in every round.
  void extend(const Backend& backend) {
    std::vector<float> b(kB), d(kD);
    for (std::size_t round = 0; round < rounds_; ++round) {
      for (std::size_t i = 0; i < kB; ++i) {
        b[i] = drawn(round, kA + links_ * kB + i);
        b_.set(round, i / kN, i % kN, b[i], load_);
      }
      for (std::size_t i = 0; i < kA; ++i) a_.set(round, i / kK, i % kK, tensor_a_[round * kA + i], load_);
      multiply_on_cpu(&cpu_a_[round * kA], b.data(), d.data());
      std::copy(d.begin(), d.end(), cpu_a_.begin() + static_cast<std::ptrdiff_t>(round * kA));
    }
    backend.run(instruction_, tiles_.view());
    const TileMatrix results = d_of(tiles_);
    for (std::size_t round = 0; round < rounds_; ++round)
      for (std::size_t i = 0; i < kD; ++i)
        tensor_a_[round * kA + i] = static_cast<float>(results.get(round, i / kN, i % kN));
    ++links_;
  }

  [[nodiscard]] ChainPoint point() const {
    ChainPoint point;
    point.length = static_cast<int>(links_);
    double sum = 0;
    for (std::size_t round = 0; round < rounds_; ++round) {
      double difference = 0, norm = 0;
      bool finite = true;
      for (std::size_t i = round * kD; i < (round + 1) * kD; ++i) {
        const double ours = tensor_a_[i], reference = cpu_a_[i];
        finite = finite && std::isfinite(ours) && std::isfinite(reference);
        difference += (ours - reference) * (ours - reference);
        norm += ours * ours;
      }
      if (!finite) ++point.rounds_not_finite;
      // Equation (1) of the paper divides by the norm of the tensor-core result.
      sum += std::sqrt(difference) / std::sqrt(norm);
    }
    if (point.rounds_not_finite == 0) point.error = sum / static_cast<double>(rounds_);
    return point;
  }

 private:
  [[nodiscard]] float drawn(std::size_t round, std::size_t index) const {
    const float value = draws_[round * stride_ + index];
    return init_ == Initialisation::fp32 ? value : cast_draw(value, instruction_.a);
  }

  const Instruction& instruction_;
  CastRule load_;
  Initialisation init_;
  const std::vector<float>& draws_;
  std::size_t rounds_, stride_, links_ = 0;
  TileBatch tiles_;
  TileMatrix a_, b_;
  std::vector<float> cpu_a_, tensor_a_;  ///< D of the last link, the A of the next
};

void read_chains(const Instruction& instruction, const Backend& backend, const ChainOptions& options,
                 ChainCurve& curve) {
  const bool anew = curve.draws == ChainDraws::every_length;
  std::vector<float> draws;
  std::optional<Chains> chains;
  for (int length = 1; length <= options.max_length; ++length) {
    if (anew || !chains) {
      const int whole = anew ? length : options.max_length;
      draws = draw_all(options.rounds, whole);
      chains.emplace(instruction, curve.init, draws, options.rounds, whole);
    }
    for (int links = anew ? length : 1; links > 0; --links) chains->extend(backend);
    curve.points.push_back(chains->point());
    if (anew && !curve.points.back().error) return;
  }
}

}  // namespace

std::vector<ChainCurve> chain_matmul(const Backend& backend, const ChainOptions& options) {
  std::vector<ChainCurve> curves;
  for (const std::string_view name : kPublishedChains) {
    const auto instruction = find_instruction(name);
    if (!instruction || !backend.why_not(*instruction, 0).empty()) continue;
    if (std::find(options.dtypes.begin(), options.dtypes.end(), instruction->a) == options.dtypes.end())
      continue;
    for (const Initialisation init : {Initialisation::low, Initialisation::fp32}) {
      ChainCurve curve;
      curve.dtype = instruction->a;
      curve.instruction = name_of(*instruction);
      curve.init = init;
      curve.rounds = options.rounds;
      curve.draws = options.draws.value_or(instruction->a == Format::f16 ? ChainDraws::every_length
                                                                         : ChainDraws::one_chain);
      read_chains(*instruction, backend, options, curve);
      for (const ChainPoint& point : curve.points)
        if (point.rounds_not_finite != 0 && !curve.first_infinity) curve.first_infinity = point.length;
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

}  // namespace mmaudit::report
