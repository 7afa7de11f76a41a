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

constexpr AttentionRecipe kRecipes[] = {
    {.name = "f16", .family = "torch-flash", .type = Format::f16, .source = "torch", .evidence = "recorded"},
    {.name = "bf16",
     .family = "torch-flash",
     .type = Format::bf16,
     .source = "torch",
     .evidence = "recorded"},
    {.name = "bf16-efficient",
     .family = "torch-efficient",
     .type = Format::bf16,
     .source = "torch",
     .evidence = "recorded"},
    {.name = "kv-e4m3",
     .family = "torch-flash",
     .type = Format::bf16,
     .per_head = true,
     .cache = Format::e4m3,
     .source = "a cache of K and V in E4M3, read back as bf16 (flashinfer)",
     .evidence = "literature"},
    {.name = "fa3-tensor",
     .family = "fa3",
     .type = Format::e4m3,
     .scaled = true,
     .source = "flash-attention hopper/, one descale",
     .evidence = "literature"},
    {.name = "fa3-head",
     .family = "fa3",
     .type = Format::e4m3,
     .scaled = true,
     .per_head = true,
     .source = "flash-attention hopper/, descales per batch and key head",
     .evidence = "literature"},
    {.name = "fa3-head-two-level",
     .family = "fa3",
     .type = Format::e4m3,
     .scaled = true,
     .per_head = true,
     .two_level = true,
     .source = "vllm-project/flash-attention PR #104",
     .evidence = "literature"},
    {.name = "fa4-e4m3",
     .family = "fa4",
     .type = Format::e4m3,
     .scaled = true,
     .per_head = true,
     .offset = 8,
     .threshold = 4,
     .source = "flash-attention before PR #2717 (issue #2716)",
     .evidence = "literature"},
    {.name = "fa4-e4m3-mended",
     .family = "fa4",
     .type = Format::e4m3,
     .scaled = true,
     .per_head = true,
     .offset = 4,
     .threshold = 4,
     .source = "flash-attention PR #2717: offset + threshold <= log2(448)",
     .evidence = "literature"},
    {.name = "fa4-e5m2",
     .family = "fa4",
     .type = Format::e5m2,
     .scaled = true,
     .per_head = true,
     .offset = 8,
     .threshold = 4,
     .source = "flash-attention before PR #2717 (issue #2716)",
     .evidence = "literature"},
};

constexpr std::string_view kCauses[] = {"Q, K, V",      "QK sum", "exponential", "P rounding",
                                        "P saturation", "PV sum", "output"};
constexpr std::size_t kParts = std::size(kCauses);

/// An operand as elements, and the factor that undoes their scale.
struct Quantized {
  std::vector<std::byte> bits;
  std::vector<double> numbers;  ///< what the elements and the factor stand for
  float factor = 1;
};

double largest(const double* x, std::uint64_t count) {
  double most = 0;
  for (std::uint64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i]));
  return most;
}

Quantized quantized(const double* x, std::uint64_t count, Format type, float factor) {
  const FormatSpec spec = spec_of(type);
  const FastCast cast(spec, {CastRounding::nearest_even, true});
  const FastDecode decode(spec);
  Quantized out{std::vector<std::byte>(count * spec.storage_bytes()), std::vector<double>(count), factor};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = cast(static_cast<double>(static_cast<float>(x[i]) / factor));
    store_word(out.bits.data(), spec.storage_bytes(), i, bits);
    out.numbers[i] = decode(bits) * factor;
  }
  return out;
}

/// P in `spec` with as many exponents as it needs.
double rounded_without_end(double x, const FormatSpec& spec, const FastCast& cast, const FastDecode& decode) {
  const double most = decode_value(spec.max_finite_bits(), spec);
  if (!(x > most)) return decode(cast(x));
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, spec.fraction_bits + 1)),
                    exponent - spec.fraction_bits - 1);
}

struct Sums {
  double exact = 0, total = 0;
  std::array<double, kParts> parts{}, along{};
  std::uint64_t rows = 0, seen = 0, saturated = 0, flushed = 0;
  void add(const Sums& other) {
    exact += other.exact, total += other.total, rows += other.rows;
    seen += other.seen, saturated += other.saturated, flushed += other.flushed;
    for (std::size_t i = 0; i < kParts; ++i) parts[i] += other.parts[i], along[i] += other.along[i];
  }
};

/// One head: the plan's O of every row, the exact one of some.
class Head {
 public:
  Head(const AttentionProblem& problem, const AttentionPlan& plan, const Architecture& architecture)
      : problem_(problem),
        plan_(plan),
        architecture_(architecture),
        p_(spec_of(plan.p)),
        cast_(p_, {CastRounding::nearest_even, true}),
        decode_(p_) {}

  Sums run(const double* q, const double* k, const double* v, const Quantized& of_q, const Quantized& of_k,
           const Quantized& of_v, std::uint64_t rows) {
    const std::uint64_t n = problem_.queries, keys = problem_.keys, d = problem_.depth;
    std::vector<float> o(n * d), scores(n * keys), weights(n * keys), later(n * keys);
    AttentionResult result;
    result.o = o.data();
    result.scores = scores.data(), result.weights = weights.data(), result.later = later.data();
    AttentionPlan plan = plan_;
    plan.output = Format::f32;
    attention(problem_, plan,
              {.q = of_q.bits.data(),
               .k = of_k.bits.data(),
               .v = of_v.bits.data(),
               .descale_q = &of_q.factor,
               .descale_k = &of_k.factor,
               .descale_v = &of_v.factor},
              result, 1, architecture_);
    Sums out;
    const double scale = scales_of(problem_).first, factors = static_cast<double>(of_q.factor) * of_k.factor;
    const FormatSpec output = spec_of(plan_.output);
    std::vector<double> p(keys);
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
        for (double& x : row) x /= sum;
        return row;
      };
      const auto product = [&](const double* a, const double* b) {
        return soft([&](std::uint64_t j) {
          double sum = 0;
          for (std::uint64_t c = 0; c < d; ++c) sum += a[i * d + c] * b[j * d + c];
          return sum * scale;
        });
      };
      steps[0] = with(v, product(q, k));
      steps[1] = with(of_v.numbers.data(), product(of_q.numbers.data(), of_k.numbers.data()));
      steps[2] = with(of_v.numbers.data(),
                      soft([&](std::uint64_t j) { return scores[i * keys + j] * factors * scale; }));
      double sum = 0;
      const auto weigh = [&](const auto& value) {
        for (std::uint64_t j = first; j < last; ++j)
          p[j] = value(static_cast<double>(weights[i * keys + j])) * static_cast<double>(later[i * keys + j]);
      };
      weigh([](double x) { return x; });
      for (std::uint64_t j = first; j < last; ++j) sum += p[j];
      steps[3] = with(of_v.numbers.data(), sum);
      weigh([&](double x) { return rounded_without_end(x, p_, cast_, decode_); });
      steps[4] = with(of_v.numbers.data(), sum);
      weigh([&](double x) {
        const double kept = decode_(cast_(x));
        out.seen += x != 0 ? 1 : 0;
        out.flushed += x != 0 && kept == 0 ? 1 : 0;
        out.saturated += kept < x * 0.9375 && kept >= decode_value(p_.max_finite_bits(), p_) ? 1 : 0;
        return kept;
      });
      steps[5] = with(of_v.numbers.data(), sum);
      steps[6].assign(&o[i * d], &o[i * d] + d);
      for (const double x : steps[6])
        steps[7].push_back(decode_value(encode_nearest_even(x, output), output));
      for (std::uint64_t c = 0; c < d; ++c) {
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
    }
    return out;
  }

 private:
  const AttentionProblem& problem_;
  const AttentionPlan& plan_;
  const Architecture& architecture_;
  FormatSpec p_;
  FastCast cast_;
  FastDecode decode_;
};

/// The factor that makes a format's largest number of `most`.
float factor_of(double most, Format type) {
  const FormatSpec spec = spec_of(type);
  return most == 0 ? 1.0F : static_cast<float>(most / decode_value(spec.max_finite_bits(), spec));
}

}  // namespace

std::span<const AttentionRecipe> attention_recipes() { return kRecipes; }

const AttentionRecipe& require_attention_recipe(const std::string& name) {
  if (const AttentionRecipe* found = find_named(kRecipes, name)) return *found;
  for (const std::string_view known : {"sage", "nvfp4"})
    if (name == known)
      refuse("--recipe: found {}, allowed: a recipe with a plan; {} has none yet", name, name);
  refuse("--recipe: found {}, allowed: {}", name, names_of(kRecipes));
}

AttentionAudit audit_attention(const AttentionCase& given, const AttentionRecipe& recipe, std::uint64_t rows,
                               unsigned threads) {
  AttentionProblem problem = given.problem;
  problem.type = recipe.type;
  std::string why;
  auto plan = attention_plan_of(recipe.family, problem, &why);
  if (!plan) throw InputError(why);
  if (recipe.offset >= 0) plan->offset = static_cast<std::uint64_t>(recipe.offset);
  if (recipe.threshold >= 0) plan->threshold = static_cast<std::uint64_t>(recipe.threshold);
  if (recipe.two_level) plan->output_sum = OutputSum::two_level;
  AttentionAudit out;
  plan->splits = plan->combine_lanes = 1;  // one maximum per row, which the parts of the error need
  out.recipe = &recipe, out.plan = mmaudit::text_of(*plan);
  const Architecture& architecture = *find_architecture(find_attention_family(recipe.family)->architecture);
  if (why = why_no_attention(problem, *plan, architecture); !why.empty()) throw InputError(why);

  const std::uint64_t group = problem.heads / problem.kv_heads, of_row = problem.queries * problem.depth,
                      of_key = problem.keys * problem.depth;
  const auto scale_of = [&](const std::vector<double>& x, std::uint64_t first, std::uint64_t count,
                            Format type) {
    return recipe.per_head ? factor_of(largest(&x[first], count), type)
                           : factor_of(largest(x.data(), x.size()), type);
  };
  AttentionProblem one = problem;
  one.batch = one.heads = one.kv_heads = 1;
  Sums sums;
  std::mutex mutex;
  detail::parallel_for(problem.batch * problem.heads, threads, [&](std::uint64_t head) {
    const std::uint64_t kv = head / problem.heads * problem.kv_heads + head % problem.heads / group;
    const double *q = &given.q[head * of_row], *k = &given.k[kv * of_key], *v = &given.v[kv * of_key];
    std::vector<double> cached_k, cached_v;
    const double *taken_k = k, *taken_v = v;
    if (recipe.cache != Format::f32) {
      cached_k =
          quantized(k, of_key, recipe.cache, scale_of(given.k, kv * of_key, of_key, recipe.cache)).numbers;
      cached_v =
          quantized(v, of_key, recipe.cache, scale_of(given.v, kv * of_key, of_key, recipe.cache)).numbers;
      taken_k = cached_k.data(), taken_v = cached_v.data();
    }
    const auto factor = [&](const std::vector<double>& x, std::uint64_t first, std::uint64_t count) {
      return recipe.scaled ? scale_of(x, first, count, recipe.type) : 1.0F;
    };
    // Q's scale is that of all heads which share a head of K.
    const Sums found =
        Head(one, *plan, architecture)
            .run(q, k, v,
                 quantized(q, of_row, recipe.type, factor(given.q, kv * group * of_row, group * of_row)),
                 quantized(taken_k, of_key, recipe.type, factor(given.k, kv * of_key, of_key)),
                 quantized(taken_v, of_key, recipe.type, factor(given.v, kv * of_key, of_key)), rows);
    const std::lock_guard lock(mutex);
    sums.add(found);
  });
  const double exact = std::sqrt(sums.exact);
  out.total = std::sqrt(sums.total) / exact;
  out.rows = sums.rows;
  const auto seen = static_cast<double>(std::max<std::uint64_t>(1, sums.seen));
  out.saturated = static_cast<double>(sums.saturated) / seen;
  out.flushed = static_cast<double>(sums.flushed) / seen;
  for (std::size_t i = 0; i < kParts; ++i)
    out.causes.push_back(
        {kCauses[i], std::sqrt(sums.parts[i]) / exact, sums.total == 0 ? 0 : sums.along[i] / sums.total});
  return out;
}

}  // namespace mmaudit::checks
