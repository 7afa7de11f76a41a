#include "gemm/samples.hpp"

#include <algorithm>

#include "mmaudit/error.hpp"
#include "mmaudit/gemm_epilogue.hpp"
#include "mmaudit/generators/gemm_operand.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::checks {

std::vector<std::byte> predicted_by(const Architecture& architecture, const GemmProblem& problem,
                                    const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                                    const GemmBuffers& operands, const Product& by) {
  const DatapathEntry* const entry = plan.scalar ? nullptr : find_datapath(architecture, plan.instruction);
  if (entry == nullptr && !plan.scalar)
    refuse("plan: found {}, allowed: an instruction of {}", name_of(plan.instruction), architecture.name);
  const Datapath datapath = entry == nullptr ? Datapath{} : entry->datapath;
  if (const std::string why = why_no_gemm(problem, plan, datapath); !why.empty())
    throw InputError("plan: " + why);
  std::vector<std::byte> d(rows * columns * spec_of(plan.output).storage_bytes());
  predict_gemm(problem, plan, datapath, rows, columns, operands, d.data(), by);
  return d;
}

namespace {

/// `numbers` + first, each.
std::vector<std::uint64_t> behind(std::vector<std::uint64_t> numbers, std::uint64_t first) {
  for (std::uint64_t& each : numbers) each += first;
  return numbers;
}

}  // namespace

std::vector<std::uint64_t> predicted_bits(const Architecture& architecture, const corpus::GemmSample& sample,
                                          const GemmPlan& plan) {
  const GemmProblem& problem = sample.problem;
  const auto& rows = sample.rows;
  const auto& columns = sample.columns;
  const std::size_t bytes = spec_of(plan.output).storage_bytes();
  const auto addends = [&](Format format, const std::vector<std::uint64_t>& of_rows) {
    const std::size_t each = spec_of(format).storage_bytes();
    std::vector<std::byte> out(of_rows.size() * columns.size() * each);
    for (std::size_t e = 0; e < of_rows.size() * columns.size(); ++e)
      store_word(
          out.data(), each, e,
          gen::gemm_addend(sample.seed, format, of_rows[e / columns.size()], columns[e % columns.size()]));
    return out;
  };
  const auto bias = problem.bias ? addends(bias_type_of(problem), {gen::kBiasRow}) : std::vector<std::byte>{};
  std::vector<std::uint64_t> out;
  for (const std::uint64_t matrix : sample.matrices) {
    const std::uint64_t of_a = matrices_of_a(problem) == 1 ? 0 : matrix * problem.m,
                        of_b = matrices_of_b(problem) == 1 ? 0 : matrix * problem.n;
    const auto a =
        gen::gemm_operands(sample.seed, gen::GemmSide::a, problem.type, behind(rows, of_a), problem.k);
    const auto b = gen::gemm_operands(sample.seed, gen::GemmSide::b, b_type_of(problem),
                                      behind(columns, of_b), problem.k);
    const auto c =
        problem.beta != 0 ? addends(plan.output, behind(rows, matrix * problem.m)) : std::vector<std::byte>{};
    const std::vector<std::byte> d = predicted_by(
        architecture, problem, plan, rows.size(), columns.size(), {a.data(), b.data(), c.data(), bias.data()},
        [](const Instruction& instruction, const Datapath& model, const Matmul& part) {
          matmul(instruction, model, part);
        });
    for (std::size_t e = 0; e < rows.size() * columns.size(); ++e)
      out.push_back(load_word(d.data(), bytes, e));
  }
  return out;
}

corpus::GemmSample sample_of(const GemmProblem& problem, const LibraryCall& call, std::uint64_t seed,
                             const std::vector<std::byte>& d) {
  constexpr std::size_t kMost = 4;
  Draws draws{seed};
  const auto drawn = [&](std::uint64_t count) {
    std::vector<std::uint64_t> out = {0};
    while (out.size() < std::min<std::uint64_t>(kMost, count)) {
      const std::uint64_t next = draws.below(count);
      if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
    }
    return out;
  };
  corpus::GemmSample out;
  out.problem = problem;
  out.call = call;
  out.seed = seed;
  out.rows = drawn(problem.m);
  out.columns = drawn(problem.n);
  const std::size_t bytes = spec_of(output_of(problem)).storage_bytes();
  if (problem.batch != 1) out.matrices.push_back(problem.batch - 1);
  for (const std::uint64_t matrix : out.matrices)
    for (const std::uint64_t row : out.rows)
      for (const std::uint64_t column : out.columns)
        out.d.push_back(load_word(d.data(), bytes, (matrix * problem.m + row) * problem.n + column));
  return out;
}

SampleOutcome check_sample(const Architecture& architecture, const corpus::GemmSample& sample) {
  SampleOutcome out;
  out.plan = plan_of(sample.problem, sample.call, &out.why, architecture);
  if (!out.plan) return out;
  const std::vector<std::uint64_t> found = predicted_bits(architecture, sample, *out.plan);
  out.elements = found.size();
  for (std::size_t e = 0; e < found.size(); ++e) out.wrong += found[e] != sample.d[e] ? 1 : 0;
  return out;
}

}  // namespace mmaudit::checks
