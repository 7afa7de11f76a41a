// mmaudit gemm reveal: a matrix product that no plan describes, shown by masks.

#include <algorithm>
#include <memory>

#include "choice.hpp"
#include "common.hpp"
#include "foreign.hpp"
#include "gemm/compare.hpp"
#include "gemm_files.hpp"
#include "outputs.hpp"
#include "probe_report.hpp"

namespace mmaudit::cli {
namespace {

constexpr std::uint64_t kMostElements = 1'000'000'000;  ///< of a matrix

struct RevealOptions {
  ForeignOptions function;
  std::string problem, type = "f16", b, d = "f32", architecture;
  Outputs outputs;
  std::uint64_t m = 64, n = 64, k = 1024, seed = 1;
  bool with_c = false;
};

Format format_option(const char* option, const std::string& name) {
  const auto has_sums = [](Format format) { return !spec_of(format).integer() && !spec_of(format).signless; };
  if (const std::optional<Format> format = find_format(name); format && has_sums(*format)) return *format;
  refuse("{}: found {}, allowed: {}", option, name,
         names_of(kFormats, [&](const NamedFormat& one) { return has_sums(one.spec.id); }));
}

probe::UnknownGemm gemm_of(const RevealOptions& options) {
  probe::UnknownGemm gemm;
  gemm.m = options.m;
  gemm.n = options.n;
  gemm.k = options.k;
  gemm.a = format_option("--type", options.type);
  gemm.b = options.b.empty() ? gemm.a : format_option("--b", options.b);
  gemm.d = format_option("--d", options.d);
  gemm.with_c = options.with_c;
  // No product of two overflows: an option is at most as large itself.
  for (const std::uint64_t elements : {gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n})
    if (elements > kMostElements)
      refuse("--m, --n, --k: found a matrix of {} elements, allowed: up to {}", elements, kMostElements);
  return gemm;
}

/// A product of cuBLASLt or cublasGemmEx on this GPU, and the GPU's architecture.
probe::UnknownGemm library_product(const std::string& file, const Architecture*& architecture) {
  const GemmProblem x = only_problem(file);
  if (has_epilogue(x) || x.batch != 1)
    refuse("{}: found {}, allowed: one product alone, without batch, alpha, beta, bias and activation", file,
           name_of(x));
  probe::UnknownGemm gemm;
  gemm.m = x.m;
  gemm.n = x.n;
  gemm.k = x.k;
  const auto of_memory = [](Format format) { return format == Format::tf32 ? Format::f32 : format; };
  gemm.a = of_memory(x.type);
  gemm.b = of_memory(b_type_of(x));
  gemm.d = output_of(x);
  const device::DeviceInfo gpu = require_device();
  architecture = &architecture_of(gpu);
  const auto session = std::make_shared<device::LibrarySession>(gpu);
  gemm.run = [x, session](const void* a, const void* b, const void* /*c*/, void* d) {
    const auto bytes = [](const void* from, std::uint64_t elements, Format format) {
      const auto* const first = static_cast<const std::byte*>(from);
      return std::vector<std::byte>(first, first + elements * spec_of(format).storage_bytes());
    };
    const GemmInputs inputs =
        checks::inputs_of(x, bytes(a, x.m * x.k, x.type), bytes(b, x.k * x.n, b_type_of(x)));
    const device::LibraryAnswer answer = session->run(x, inputs.library_a(), inputs.library_b());
    std::copy(answer.d.begin(), answer.d.end(), static_cast<std::byte*>(d));
  };
  return gemm;
}

int execute(const RevealOptions& options, const Context& context) {
  if (!options.problem.empty() && options.function.given())
    refuse("--problem: found {} and a function, allowed: one of them", options.problem);
  const bool foreign = options.problem.empty();
  const Architecture* of_gpu = nullptr;
  probe::UnknownGemm gemm = foreign ? gemm_of(options) : library_product(options.problem, of_gpu);
  try_outputs(options.outputs.files(), {{"--problem", options.problem}});
  std::vector<const Architecture*> known;
  if (options.architecture.empty() && context.own() == nullptr && of_gpu != nullptr)
    known.push_back(of_gpu);
  else if (options.architecture.empty() && context.own() == nullptr)
    for (const Architecture& one : architectures()) known.push_back(&one);
  else
    known.push_back(&require_architecture(context, options.architecture));
  const auto function = foreign ? start(options.function, checks::Signature::gemm) : nullptr;
  if (foreign)
    gemm.run = [&](const void* a, const void* b, const void* c, void* d) {
      const auto bytes = [](Format format, std::uint64_t elements) {
        return elements * spec_of(format).storage_bytes();
      };
      checks::ForeignCall call;
      call.sizes = {gemm.m, gemm.n, gemm.k};
      call.inputs[0] = {a, bytes(gemm.a, gemm.m * gemm.k)};
      call.inputs[1] = {b, bytes(gemm.b, gemm.k * gemm.n)};
      if (c != nullptr) call.inputs[2] = {c, bytes(gemm.d, gemm.m * gemm.n)};
      call.d = d;
      call.d_size = bytes(gemm.d, gemm.m * gemm.n);
      function->call(call);
    };
  probe::RevealOptions how{.seed = options.seed};
  Progress progress(context.quiet, "reveal", 0);
  how.progress = [&](const std::string& what) { progress.advance(0, what); };
  const probe::GemmFinding finding = probe::reveal(gemm, known, how);
  return options.outputs.publish(report_of(finding, gemm), context);
}

}  // namespace

void add_gemm_reveal(Command& gemm) {
  auto options = std::make_shared<RevealOptions>();
  Command command = gemm.command("reveal", "Find the plan of a product from the callable alone",
                                 {"mmaudit gemm reveal ./libmine.so:my_gemm --type f16 --d f32 --k 4096",
                                  "mmaudit gemm reveal --problem product.json",
                                  "mmaudit gemm reveal --command 'python3 kernel.py' --type e4m3 --d bf16"});
  command.option(
      "function", options->function.library,
      "LIBRARY:FUNCTION: int f(uint64_t m, uint64_t n, uint64_t k, const void* a, const void* b, const "
      "void* c, void* d)");
  add_foreign_options(command, options->function);
  const Option problem =
      command.option("--problem FILE", options->problem,
                     "a product of cuBLASLt or cublasGemmEx on this GPU instead, as JSON (docs/gemm.md)");
  command.section("The product");
  constexpr auto kMostSize = static_cast<double>(kMostElements);
  command.option("--m", options->m, "rows of D").range(1, kMostSize).excludes(problem);
  command.option("--n", options->n, "columns of D").range(1, kMostSize).excludes(problem);
  command.option("--k", options->k, "columns of A").range(1, kMostSize).excludes(problem);
  command.option("--type FORMAT", options->type, "of A and B; f32 where a kernel rounds to TF32")
      .excludes(problem);
  command.option("--b FORMAT", options->b, "of B where it has another").excludes(problem);
  command.option("--d FORMAT", options->d, "of D, and of C").excludes(problem);
  command.flag("--with-c", options->with_c, "the function reads C: find its place too").excludes(problem);
  command.option("--arch ARCH", options->architecture,
                 "whose instructions the plan may have (default: all; with --problem this GPU's)");
  add_model_option(command);
  command.option("--seed", options->seed, "seed of the random products");
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return execute(*options, context); });
}

}  // namespace mmaudit::cli
