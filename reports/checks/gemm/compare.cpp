#include "gemm/compare.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "choice.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/generators/gemm_operand.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::checks {
namespace {

/// Matrices as a library stores them: `count` of them, each `stride` elements behind the one before.
struct Storage {
  std::uint64_t rows, columns, ld, offset, count, stride, elements;
  bool transposed;
  std::size_t bytes;
};

/// Nothing where it is stored as it is.
std::vector<std::byte> stored(const std::vector<std::byte>& matrix, const Storage& how) {
  const std::uint64_t tight = how.transposed ? how.rows : how.columns, ld = how.ld == 0 ? tight : how.ld;
  const std::uint64_t of_matrix = how.rows * how.columns;
  const bool dense = how.count == 1 || how.stride == of_matrix;
  if (!how.transposed && ld == tight && how.offset == 0 && dense) return {};
  std::vector<std::byte> out(how.elements * how.bytes,
                             std::byte{0x7F});  // what is not an element must not count
  detail::parallel_for(how.count * how.rows, 0, [&](std::uint64_t row) {
    const std::uint64_t i = row % how.rows, first = how.offset + row / how.rows * how.stride;
    for (std::uint64_t j = 0; j < how.columns; ++j)
      std::memcpy(&out[(first + (how.transposed ? j * ld + i : i * ld + j)) * how.bytes],
                  &matrix[(row * how.columns + j) * how.bytes], how.bytes);
  });
  return out;
}

/// `count` matrices of `outer` rows of A or columns of B each.
std::vector<std::byte> filled(std::uint64_t seed, gen::GemmSide side, Format format, std::uint64_t count,
                              std::uint64_t outer, std::uint64_t depth) {
  const std::size_t bytes = spec_of(format).storage_bytes();
  std::vector<std::byte> out(count * outer * depth * bytes);
  const bool of_a = side == gen::GemmSide::a;
  const std::uint64_t rows = of_a ? outer : depth, columns = of_a ? depth : outer;
  detail::parallel_for(count * rows, 0, [&](std::uint64_t at) {
    const std::uint64_t first = at / rows * outer, row = at % rows;
    for (std::uint64_t column = 0; column < columns; ++column)
      store_word(
          out.data(), bytes, at * columns + column,
          gen::gemm_operand(seed, side, format, first + (of_a ? row : column), of_a ? column : row, depth));
  });
  return out;
}

}  // namespace

GemmInputs inputs_of(const GemmProblem& x, std::vector<std::byte> a, std::vector<std::byte> b) {
  const GemmExtents extents = extents_of(x).value_or(GemmExtents{});
  const GemmStrides strides = strides_of(x);
  GemmInputs out;
  out.a = std::move(a);
  out.b = std::move(b);
  out.stored_a = stored(out.a, {x.m, x.k, x.lda, x.offset_a, matrices_of_a(x), strides.a, extents.a,
                                x.transposed_a, spec_of(x.type).storage_bytes()});
  out.stored_b = stored(out.b, {x.k, x.n, x.ldb, x.offset_b, matrices_of_b(x), strides.b, extents.b,
                                x.transposed_b, spec_of(b_type_of(x)).storage_bytes()});
  return out;
}

GemmInputs inputs_of(const GemmProblem& x, std::uint64_t seed) {
  GemmInputs out = inputs_of(x, filled(seed, gen::GemmSide::a, x.type, matrices_of_a(x), x.m, x.k),
                             filled(seed, gen::GemmSide::b, b_type_of(x), matrices_of_b(x), x.n, x.k));
  const auto addends = [&](Format format, std::uint64_t first, std::uint64_t rows) {
    const std::size_t bytes = spec_of(format).storage_bytes();
    std::vector<std::byte> of_rows(rows * x.n * bytes);
    detail::parallel_for(rows, 0, [&](std::uint64_t i) {
      for (std::uint64_t j = 0; j < x.n; ++j)
        store_word(of_rows.data(), bytes, i * x.n + j, gen::gemm_addend(seed, format, first + i, j));
    });
    return of_rows;
  };
  if (x.beta != 0) out.c = addends(output_of(x), 0, x.batch * x.m);
  if (x.bias) out.bias = addends(bias_type_of(x), gen::kBiasRow, 1);
  return out;
}

std::vector<std::byte> predicted(const Architecture& architecture, const GemmProblem& problem,
                                 const GemmPlan& plan, const GemmBuffers& operands,
                                 const device::DeviceInfo* on_gpu) {
  const Product product = [&](const Instruction& instruction, const Datapath& model, const Matmul& part) {
    // Binary64 on a GPU is emulated word by word: the CPU's own is as fast.
    if (on_gpu != nullptr && instruction.d != Format::f64)
      for (const auto how : {device::DeviceModel::fast, device::DeviceModel::plain})
        if (device::why_no_matmul_on_device(instruction, model, part, how).empty()) {
          device::matmul_on_device(*on_gpu, instruction, model, part, how);
          return;
        }
    MatmulOptions options;
    options.threads = 0;
    matmul(instruction, model, part, options);
  };
  std::vector<std::byte> out;
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix) {
    const std::vector<std::byte> d = predicted_by(architecture, problem, plan, problem.m, problem.n,
                                                  matrix_of(problem, operands, matrix), product);
    out.insert(out.end(), d.begin(), d.end());
  }
  return out;
}

void compare_elements(const std::vector<std::byte>& found, const std::vector<std::byte>& expected,
                      GemmOutcome& out) {
  const std::size_t bytes = spec_of(output_of(out.problem)).storage_bytes();
  out.elements = out.problem.batch * out.problem.m * out.problem.n;
  out.wrong = 0;
  for (const std::vector<std::byte>* const d : {&found, &expected})
    if (d->size() != out.elements * bytes)
      refuse("D of {}: found {} bytes, allowed: {}", name_of(out.problem), d->size(), out.elements * bytes);
  if (found == expected) return;  // once for the whole of D: nearly every product ends here
  for (std::uint64_t e = 0; e < out.elements; ++e) {
    const std::uint64_t is = load_word(found.data(), bytes, e), should = load_word(expected.data(), bytes, e);
    if (is == should) continue;
    if (out.wrong++ != 0) continue;
    out.matrix = e / (out.problem.m * out.problem.n);
    out.row = e / out.problem.n % out.problem.m;
    out.column = e % out.problem.n;
    out.expected = should;
    out.found = is;
  }
}

GemmOutcome compare_problem(device::LibrarySession& session, const device::DeviceInfo& gpu,
                            const GemmProblem& problem, const GemmInputs& inputs, bool bits,
                            GemmResults& results) {
  const Architecture& architecture = architecture_of(gpu);
  GemmOutcome out;
  out.problem = problem;
  try {
    device::LibraryAnswer answer = session.run(problem, inputs.library_a(), inputs.library_b(),
                                               {.c = inputs.c.data(), .bias = inputs.bias.data()});
    out.ran = true;
    out.call = std::move(answer.call);
    results.library = std::move(answer.d);
  } catch (const EnvironmentError& error) {
    out.why = error.what();
    return out;
  }
  out.plan = plan_of(problem, out.call, &out.why, architecture);
  if (out.plan && bits) {
    results.predicted = predicted(architecture, problem, *out.plan, inputs.operands(), &gpu);
    compare_elements(results.library, results.predicted, out);
  }
  return out;
}

std::vector<GemmOutcome> compare_all(const CompareRun& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<GemmOutcome> out;
  out.reserve(run.count);
  Clock::time_point kept = Clock::now();
  for (std::size_t i = 0; i < run.count && !run.stopped(); ++i) {
    try {
      out.push_back(run.compare(i));
    } catch (...) {
      run.keep(out);
      throw;
    }
    if (std::chrono::duration<double>(Clock::now() - kept).count() < run.keep_seconds) continue;
    run.keep(out);
    kept = Clock::now();
  }
  return out;
}

}  // namespace mmaudit::checks
