#include "attention/study.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::size_t kParts = std::size(kAttentionCauses);

/// Of sums of squares; 0 where there is no error.
double relative(double error, double exact) { return error == 0 ? 0 : std::sqrt(error / exact); }

/// One head's part of an operand: the numbers given, and what its elements and their scales stand for.
struct Operand {
  const double* given;
  const std::byte* bits;
  const float* scales;  ///< one of the head, or one per row or per column
  std::vector<double> numbers;
  /// `at(i)`: which of the scales element i has.
  template <typename At>
  Operand(const double* x, const std::byte* elements, std::uint64_t count, Format type, const float* factors,
          const At& at)
      : given(x), bits(elements), scales(factors), numbers(count) {
    const FastDecode decode(spec_of(type));
    for (std::uint64_t i = 0; i < count; ++i)
      numbers[i] = decode.at(bits, i) * static_cast<double>(scales == nullptr ? 1.0F : scales[at(i)]);
  }
};

/// P in `spec` with as many exponents as it needs, of the number that is kept with those it has.
double rounded_without_end(double x, double kept, const FormatSpec& spec) {
  const double most = decode_value(spec.max_finite_bits(), spec);
  if (!(x > most)) return kept;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, spec.fraction_bits + 1)),
                    exponent - spec.fraction_bits - 1);
}

/// A row or column of O: lost where its exact numbers are not all zero, and what came is or is not finite.
struct Line {
  bool exact = false, came = false, finite = true;
  void add(double expected, double found) {
    exact |= expected != 0, came |= found != 0, finite &= std::isfinite(found);
  }
  [[nodiscard]] std::uint64_t lost() const { return exact && !(came && finite) ? 1 : 0; }
};

struct Sums {
  double exact = 0, total = 0;
  std::array<double, kParts> parts{}, along{};
  std::uint64_t rows = 0, seen = 0, saturated = 0, flushed = 0, lost_rows = 0, lost_columns = 0;
  void add(const Sums& other) {
    exact += other.exact, total += other.total, rows += other.rows;
    lost_rows += other.lost_rows, lost_columns += other.lost_columns;
    seen += other.seen, saturated += other.saturated, flushed += other.flushed;
    for (std::size_t i = 0; i < kParts; ++i) parts[i] += other.parts[i], along[i] += other.along[i];
  }
};

/// One head: the plan's O of every row, the exact one of some.
class Head {
 public:
  Head(const AttentionProblem& problem, const AttentionPlan& plan, const Architecture& architecture)
      : problem_(problem), plan_(plan), architecture_(architecture), p_(spec_of(plan.p)) {}

  Sums run(const Operand& q, const Operand& k, const Operand& v, std::uint64_t rows) {
    const std::uint64_t n = problem_.queries, keys = problem_.keys, d = problem_.depth;
    std::vector<float> o(n * d), scores(n * keys), weights(n * keys), later(n * keys);
    AttentionResult result;
    result.o = o.data();
    result.scores = scores.data(), result.weights = weights.data(), result.later = later.data();
    AttentionPlan plan = plan_;
    plan.output = Format::f32;
    const bool by_rows = plan.score == ScoreRule::dequantized;
    AttentionOperands operands{.q = q.bits, .k = k.bits, .v = v.bits};
    (by_rows ? operands.row_q : operands.descale_q) = q.scales;
    (by_rows ? operands.key_k : operands.descale_k) = k.scales;
    (by_rows ? operands.column_v : operands.descale_v) = v.scales;
    attention(problem_, plan, operands, result, 1, architecture_);
    Sums out;
    const double scale = scales_of(problem_).first;
    const auto scale_of = [&](const Operand& x, std::uint64_t row) {
      return x.scales == nullptr ? 1.0 : static_cast<double>(x.scales[by_rows ? row : 0]);
    };
    const FormatSpec output = spec_of(plan_.output);
    std::vector<double> p(keys), kept(keys);
    std::vector<Line> columns(d);
    for (std::uint64_t turn = 0; turn < std::min(rows, n); ++turn) {
      const std::uint64_t i = turn * n / std::min(rows, n);
      const auto seen = keys_of_row(problem_, i);
      const std::uint64_t first = seen.first, last = seen.second;
      if (first >= last) continue;
      std::array<std::vector<double>, kParts + 1> steps;
      const auto soft = [&](const auto& score) {
        double most = -INFINITY, sum = 0;
        for (std::uint64_t j = first; j < last; ++j) p[j] = score(j), most = std::max(most, p[j]);
        for (std::uint64_t j = first; j < last; ++j) p[j] = std::exp(p[j] - most), sum += p[j];
        return sum;
      };
      const auto with = [&](const double* values, double sum) {
        std::vector<double> row(d);
        for (std::uint64_t j = first; j < last; ++j)
          for (std::uint64_t c = 0; c < d; ++c) row[c] += p[j] * values[j * d + c];
        for (double& x : row) x = sum == 0 ? 0 : x / sum;  // as kernels divide
        return row;
      };
      const auto product = [&](const double* a, const double* b) {
        return soft([&](std::uint64_t j) {
          double sum = 0;
          for (std::uint64_t c = 0; c < d; ++c) sum += a[i * d + c] * b[j * d + c];
          return sum * scale;
        });
      };
      steps[0] = with(v.given, product(q.given, k.given));
      const double of_elements = product(q.numbers.data(), k.numbers.data());
      steps[1] = with(v.given, of_elements);
      steps[2] = with(v.numbers.data(), of_elements);
      steps[3] = with(v.numbers.data(), soft([&](std::uint64_t j) {
                        return scores[i * keys + j] * (scale_of(q, i) * scale_of(k, j)) * scale;
                      }));
      double sum = 0;
      attention_p(plan_, &weights[i * keys], keys, kept.data());
      const double most = decode_value(p_.max_finite_bits(), p_);
      const auto weigh = [&](const auto& value) {
        for (std::uint64_t j = first; j < last; ++j)
          p[j] = value(static_cast<double>(weights[i * keys + j]), kept[j]) *
                 static_cast<double>(later[i * keys + j]);
      };
      weigh([](double x, double) { return x; });
      for (std::uint64_t j = first; j < last; ++j) sum += p[j];
      steps[4] = with(v.numbers.data(), sum);
      weigh([&](double x, double rounded) {
        return plan_.p_block != 0 ? rounded : rounded_without_end(x, rounded, p_);
      });
      steps[5] = with(v.numbers.data(), sum);
      weigh([&](double x, double rounded) {
        out.seen += x != 0 ? 1 : 0;
        out.flushed += x != 0 && rounded == 0 ? 1 : 0;
        out.saturated += plan_.p_block == 0 && rounded < x * 0.9375 && rounded >= most ? 1 : 0;
        return rounded;
      });
      steps[6] = with(v.numbers.data(), sum);
      steps[7].assign(&o[i * d], &o[i * d] + d);
      for (const double x : steps[7])
        steps[8].push_back(decode_value(encode_nearest_even(x, output), output));
      Line row;
      for (std::uint64_t c = 0; c < d; ++c) {
        row.add(steps[0][c], steps[kParts][c]);
        columns[c].add(steps[0][c], steps[kParts][c]);
        const double whole = steps[kParts][c] - steps[0][c];
        out.exact += steps[0][c] * steps[0][c];
        out.total += whole * whole;
        for (std::size_t part = 0; part < kParts; ++part) {
          const double error = steps[part + 1][c] - steps[part][c];
          out.parts[part] += error * error;
          out.along[part] += error * whole;
        }
      }
      ++out.rows;
      out.lost_rows += row.lost();
    }
    for (const Line& column : columns) out.lost_columns += column.lost();
    return out;
  }

 private:
  const AttentionProblem& problem_;
  const AttentionPlan& plan_;
  const Architecture& architecture_;
  FormatSpec p_;
};

}  // namespace

const AttentionRecipe& require_attention_recipe(const std::string& name) {
  if (const AttentionRecipe* found = find_attention_recipe(name)) return *found;
  refuse("--recipe: found {}, allowed: {}", name, names_of(attention_recipes()));
}

AttentionAudit audit_attention(const AttentionCase& given, const AttentionRecipe& recipe, std::uint64_t rows,
                               unsigned threads) {
  AttentionProblem problem = given.problem;
  problem.type = recipe.type;
  std::string why;
  auto plan = attention_plan_of(recipe, problem, &why);
  if (!plan) throw InputError(why);
  AttentionAudit out;
  plan->splits = plan->combine_lanes = 1;  // one maximum per row, which the parts of the error need
  out.recipe = &recipe, out.plan = mmaudit::text_of(*plan);
  const Architecture& architecture = *find_architecture(find_attention_family(recipe.family)->architecture);
  if (why = why_no_attention(problem, *plan, architecture); !why.empty()) throw InputError(why);

  const std::uint64_t group = problem.heads / problem.kv_heads, of_row = problem.queries * problem.depth,
                      of_key = problem.keys * problem.depth;
  const AttentionElements elements = attention_elements(recipe, problem, given.q, given.k, given.v);
  AttentionProblem one = problem;
  one.batch = one.heads = one.kv_heads = 1;
  Sums sums;
  std::mutex mutex;
  detail::parallel_for(problem.batch * problem.heads, threads, [&](std::uint64_t head) {
    const std::uint64_t kv = head / problem.heads * problem.kv_heads + head % problem.heads / group;
    const std::uint64_t d = problem.depth;
    const auto part = [&](const std::vector<double>& x, const std::vector<std::byte>& bits, Format type,
                          std::uint64_t at, std::uint64_t count, const std::vector<float>& of_head,
                          const std::vector<float>& inside, bool by_columns) {
      const std::uint64_t bytes = spec_of(type).storage_bytes(), scales = by_columns ? d : count / d;
      const float* const factors = !inside.empty()    ? &inside[at * scales]
                                   : !of_head.empty() ? &of_head[kv]
                                                      : nullptr;
      return Operand(&x[at * count], &bits[at * count * bytes], count, type, factors, [&](std::uint64_t i) {
        return inside.empty() ? 0 : by_columns ? i % d : i / d;
      });
    };
    const Sums found =
        Head(one, *plan, architecture)
            .run(
                part(given.q, elements.q, recipe.type, head, of_row, elements.scale_q, elements.row_q, false),
                part(given.k, elements.k, recipe.type, kv, of_key, elements.scale_k, elements.key_k, false),
                part(given.v, elements.v, plan->pv.b, kv, of_key, elements.scale_v, elements.column_v, true),
                rows);
    const std::lock_guard lock(mutex);
    sums.add(found);
    if (const double error = relative(found.total, found.exact);
        error > out.worst || (error == out.worst && head < out.worst_head) || error != error)
      out.worst = error, out.worst_head = head;
  });
  out.total = relative(sums.total, sums.exact);
  out.rows = sums.rows;
  out.lost_rows = sums.lost_rows, out.lost_columns = sums.lost_columns;
  if (sums.exact == 0) out.why = "every element of the exact O is zero, so there is no relative error";
  const auto seen = static_cast<double>(std::max<std::uint64_t>(1, sums.seen));
  out.saturated = static_cast<double>(sums.saturated) / seen;
  out.flushed = static_cast<double>(sums.flushed) / seen;
  for (std::size_t i = 0; i < kParts; ++i)
    out.causes.push_back({kAttentionCauses[i], relative(sums.parts[i], sums.exact),
                          sums.total == 0 ? 0 : sums.along[i] / sums.total});
  return out;
}

}  // namespace mmaudit::checks
