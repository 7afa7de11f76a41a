#include "mmaudit/functions/row_reduction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "fast/float_mode.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/functions/evaluate.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

using functions::Id;
/// CUDA's function of that name.
float cuda(Id id, float x) {
  return functions::as_float(functions::evaluate(id, functions::bits_of(x), 0, functions::kUnit));
}

// Rules of a sum: with() takes an element, joined() another part. nvcc fuses a product with the sum after it.
template <bool Squared>
struct Sum {
  using Part = float;
  static Part with(Part a, float x) { return Squared ? std::fma(x, x, a) : a + x; }
  static Part joined(Part a, Part b) { return a + b; }
};
/// MaxNanFunctor: of equal numbers (+0 and -0) the last.
struct Largest {
  struct Part {
    float value = -std::numeric_limits<float>::infinity();
  };
  static Part with(Part a, float x) { return joined(a, {x}); }
  static Part joined(Part a, Part b) { return std::isnan(a.value) || a.value > b.value ? a : b; }
};
struct Moments {
  float mean = 0, squares = 0, count = 0;
};
// cuWelfordOnlineSum and cuWelfordCombine of layer_norm_kernel.cu; by quotients, WelfordOps of
// SharedReduceOps.h.
template <bool ByQuotients>
struct Welford {
  using Part = Moments;
  static Part with(const Part& a, float x) {
    const float delta = x - a.mean, count = a.count + 1;
    const float mean = ByQuotients ? a.mean + delta / count : std::fma(delta, 1 / count, a.mean);
    return {mean, std::fma(delta, x - mean, a.squares), count};
  }
  static Part joined(const Part& a, const Part& b) {
    const float count = a.count + b.count;
    if constexpr (ByQuotients) {
      if (a.count == 0 || b.count == 0) return a.count == 0 ? b : a;
      const float delta = b.mean - a.mean, of_b = b.count / count;
      return {std::fma(delta, of_b, a.mean), std::fma(delta * delta * a.count, of_b, a.squares + b.squares),
              count};
    } else {
      if (count == 0) return {};
      const float delta = a.mean - b.mean, share = 1 / count, of_a = a.count * share;
      return {std::fma(b.count * share, b.mean, of_a * a.mean),
              std::fma(delta * delta * b.count, of_a, b.squares + a.squares), count};
    }
  }
};

constexpr std::size_t kMostAccumulators = 8;

/// The sum of one row; `shift`: elements between the vector's beginning in memory and the row's.
template <typename Rule>
struct RowSum {
  using Part = typename Rule::Part;
  const RowPlan& plan;
  const std::vector<float>& x;
  std::uint64_t shift, threads = std::uint64_t{plan.lanes} * plan.groups, all = threads * plan.blocks;

  Part total() const {
    std::vector<Part> blocks(plan.blocks), parts(threads);
    for (std::uint64_t block = 0; block < plan.blocks; ++block) {
      for (std::uint64_t t = 0; t < threads; ++t) parts[t] = part_of(block * threads + t);
      for (std::uint64_t group = 0; group < plan.groups; ++group)
        join(&parts[group * plan.lanes], plan.lanes, 1);
      blocks[block] = join(parts.data(), plan.groups, plan.lanes);
    }
    if (plan.blocks == 1) return blocks[0];
    std::fill(parts.begin(), parts.end(), Part{});
    for (std::uint64_t block = 0; block < plan.blocks; ++block)
      parts[block % threads] = Rule::joined(parts[block % threads], blocks[block]);
    for (std::uint64_t lane = 0; lane < plan.lanes; ++lane) join(&parts[lane], plan.groups, plan.lanes);
    return join(parts.data(), plan.lanes, 1);
  }
  static Part join(Part* parts, std::uint64_t count, std::uint64_t stride) {
    for (std::uint64_t half = std::bit_ceil(count) / 2; half != 0; half /= 2)
      for (std::uint64_t i = 0; i < half && i + half < count; ++i)
        parts[i * stride] = Rule::joined(parts[i * stride], parts[(i + half) * stride]);
    return parts[0];
  }
  Part part_of(std::uint64_t thread) const {
    std::array<Part, kMostAccumulators> sums{};
    const std::uint64_t width = plan.vector, n = x.size();
    const auto add = [&](std::uint64_t to, std::uint64_t index) {
      sums[to] = Rule::with(sums[to], x[index]);
    };
    const auto strided = [&](std::uint64_t from) {
      for (std::uint64_t at = from + thread, turn = 0; at < n; at += all, ++turn)
        add(turn % plan.accumulators, at);
    };
    const bool vectors = plan.walk == RowWalk::vectors;
    const std::uint64_t first =
        vectors ? width : all;  // in front of whole vectors, if the row begins inside one
    const std::uint64_t head = shift == 0 ? 0 : std::min(n, first - shift);
    if (plan.walk == RowWalk::strided) {
      strided(0);
    } else {
      if (shift != 0 && thread >= shift && thread < first && thread - shift < n) add(0, thread - shift);
      const std::uint64_t step = width * (vectors ? 1 : all), behind = head + (n - head) / step * step;
      for (std::uint64_t at = head + thread * width; at < behind; at += all * width)
        for (std::uint64_t i = 0; i < width; ++i) add(plan.accumulators == 1 ? 0 : i, at + i);
      if (!vectors)
        strided(behind);
      else if (thread < plan.lanes && behind + thread < n)
        add(0, behind + thread);
    }
    for (std::uint64_t i = 1; i < plan.accumulators; ++i) sums[0] = Rule::joined(sums[0], sums[i]);
    return sums[0];
  }
};

/// What becomes of a row, in its place.
struct Reducer {
  const RowProblem& problem;
  const RowPlan& plan;
  float epsilon;
  std::vector<float> weight, bias, terms;
  std::uint64_t shift = 0;
  /// MeanOps of SharedReduceOps.h: outputs / elements.
  float share = static_cast<float>(problem.rows) / static_cast<float>(problem.rows * problem.n);

  template <typename Rule>
  typename Rule::Part total(const std::vector<float>& x) const {
    return RowSum<Rule>{plan, x, shift}.total();
  }
  void reduce(std::vector<float>& x) {
    const RowOperation operation = problem.operation;
    if (operation == RowOperation::amax)
      x[0] = total<Largest>(x).value;
    else if (one_per_row(operation))
      x[0] = total<Sum<false>>(x) * (operation == RowOperation::mean ? share : 1);
    else if (operation <= RowOperation::log_softmax)
      soften(x);
    else
      operation == RowOperation::rms_norm_steps ? scale_in_steps(x) : scale(x);
  }
  void soften(std::vector<float>& x) {
    const float most = total<Largest>(x).value;
    for (std::size_t i = 0; i < x.size(); ++i) terms[i] = cuda(Id::expf, x[i] - most);
    const float sum = total<Sum<false>>(terms), log = cuda(Id::logf, sum);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = problem.operation == RowOperation::softmax ? terms[i] / sum : (x[i] - most) - log;
  }
  void scale(std::vector<float>& x) const {
    const bool quotients = plan.statistic == RowStatistic::welford_quotient;
    const bool centred = problem.operation == RowOperation::layer_norm;
    const Moments moments = plan.statistic == RowStatistic::squares ? Moments{0, total<Sum<true>>(x)}
                            : quotients                             ? total<Welford<true>>(x)
                                                                    : total<Welford<false>>(x);
    const float mean = centred ? moments.mean : 0;
    float variance = moments.squares / static_cast<float>(problem.n);
    if (quotients && !centred) variance = std::fma(moments.mean, moments.mean, variance);
    const float factor = cuda(Id::rsqrtf, variance + epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float apart = centred ? x[i] - mean : x[i], scaled = apart * factor;
      const float by = weight.empty() ? 1 : weight[i];
      if (bias.empty())  // the kernel of quotients adds 0
        x[i] = by * scaled + (quotients && centred ? 0.0F : -0.0F);
      else
        x[i] =
            weight.empty() && !quotients ? std::fma(factor, apart, bias[i]) : std::fma(by, scaled, bias[i]);
    }
  }
  void scale_in_steps(std::vector<float>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) terms[i] = x[i] * x[i];
    const float factor = cuda(Id::rsqrtf, total<Sum<false>>(terms) * share + epsilon);
    const FormatSpec type = spec_of(problem.type);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(decode_value(encode_nearest_even(x[i] * factor, type), type));
      if (!weight.empty()) x[i] *= weight[i];
    }
  }
};

std::vector<float> values(const void* from, const FormatSpec& format, std::uint64_t at, std::uint64_t count) {
  std::vector<float> out(from == nullptr ? 0 : count);
  for (std::uint64_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(decode_value(load_word(from, format.storage_bytes(), at + i), format));
  return out;
}

}  // namespace

std::string why_no_rows(const RowProblem& problem, const RowOperands& operands) {
  constexpr std::array kTypes{Format::f32, Format::bf16, Format::f16};
  const bool norm = problem.operation >= RowOperation::layer_norm;
  if (std::find(kTypes.begin(), kTypes.end(), problem.type) == kTypes.end())
    return refusal("type: found {}, allowed: {}", name_of(problem.type), names_of(kTypes));
  if (problem.output != problem.type && (norm || problem.output != Format::f32))
    return refusal("output: found {}, allowed: {}{}", name_of(problem.output), name_of(problem.type),
                   norm || problem.type == Format::f32 ? "" : " or f32");
  if (problem.rows == 0 || problem.n == 0)
    return refusal("x: found {} rows of {}, allowed: at least one of each", problem.rows, problem.n);
  const std::string_view name = kRowOperations[static_cast<std::size_t>(problem.operation)];
  if (operands.weight != nullptr && !norm) return refusal("weight: found one, allowed: none of {}", name);
  if (operands.bias != nullptr && problem.operation != RowOperation::layer_norm)
    return refusal("bias: found one, allowed: none of {}", name);
  if (operands.epsilon != 0 && !norm)
    return refusal("epsilon: found {}, allowed: 0 of {}", operands.epsilon, name);
  return {};
}

void reduce_rows(const RowProblem& problem, const RowPlan& plan, const RowOperands& operands, void* y) {
  const fast::FloatMode nearest;
  const FormatSpec type = spec_of(problem.type), output = spec_of(problem.output);
  const std::uint64_t n = problem.n, width = one_per_row(problem.operation) ? 1 : n;
  Reducer reducer{problem,
                  plan,
                  operands.epsilon,
                  values(operands.weight, type, 0, n),
                  values(operands.bias, type, 0, n),
                  std::vector<float>(n)};
  for (std::uint64_t row = 0; row < problem.rows; ++row) {
    std::vector<float> x = values(operands.x, type, row * n, n);
    reducer.shift = row * n % plan.vector;
    reducer.reduce(x);
    for (std::uint64_t i = 0; i < width; ++i)
      store_word(y, output.storage_bytes(), row * width + i, encode_nearest_even(x[i], output));
  }
}

}  // namespace mmaudit
