// mmaudit matmul: whole matrix products from files, through the model.
#include "mmaudit/matmul.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "matmul_case.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/slices.hpp"

namespace mmaudit::cli {
namespace {

/// Bytes the system could give to a program now; the largest number where it does not say.
std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return UINT64_MAX;
}

void require_memory(std::uint64_t needed, std::uint64_t limit, const char* what) {
  if (needed <= limit) return;
  refuse("--memory: found {} bytes needed for {}, allowed: {} bytes", needed, what, limit);
}

/// --factor-a, --factor-b: the factor of a whole tensor, a number or a file with one. A F64 is rounded to
/// nearest, as a number is.
float factor_of(const char* option, const std::string& text) {
  if (text.empty()) return 1;
  float factor = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, factor);
  if (error != std::errc::invalid_argument && rest == end) {
    if (error != std::errc{} || !std::isfinite(factor))
      refuse("{}: found {}, allowed: a finite number of binary32", option, text);
    return factor;
  }
  const corpus::Tensor tensor = corpus::load_tensor(text);
  const Format format = corpus::format_of(tensor);
  if (format == Format::none || tensor.elements() != 1)
    refuse("{}: {}: found {} {}, allowed: one number of {}", text, option, corpus::type_text(tensor),
           corpus::to_string(tensor.shape), corpus::float_dtype_names());
  factor = static_cast<float>(FastDecode(spec_of(format)).at(tensor.data.data(), 0));
  if (corpus::is_reciprocal_factor(tensor.name)) factor = 1 / factor;
  if (!std::isfinite(factor))
    refuse("{}: {}: found {}, allowed: a finite number of binary32", text, option, factor);
  return factor;
}

std::optional<Epilogue> epilogue_of(const MatmulOptions& options) {
  const bool factors = !options.factor_a.empty() || !options.factor_b.empty();
  if (!options.has_alpha && !options.has_beta && options.output.empty() && !factors) return std::nullopt;
  Epilogue epilogue;
  epilogue.alpha = static_cast<float>(options.alpha);
  if (factors)
    epilogue.alpha *= factor_of("--factor-a", options.factor_a) * factor_of("--factor-b", options.factor_b);
  epilogue.beta = static_cast<float>(options.beta);
  if (!std::isfinite(epilogue.alpha))
    refuse("--alpha, --factor-a, --factor-b: found a product beyond binary32, allowed: a finite one");
  if (epilogue.beta != 0 && options.files.c.empty())
    refuse("--beta: found {} without --c, allowed: with --c", options.beta);
  if (!options.output.empty()) {
    const auto format = read_format(options.output);
    if (!format) refuse("--d-format: found {}, allowed: {}", options.output, names_of(kEpilogueOutputs));
    epilogue.output = *format;
  }
  return epilogue;
}

int execute(const MatmulOptions& options, const Context& context) {
  const Instruction instruction = require_instruction(options.instruction);
  const Architecture& architecture = require_architecture(context, options.architecture);
  const Datapath& datapath = require_datapath(architecture, instruction).datapath;
  Matmul problem;
  problem.promote = options.promote;
  problem.split_k = options.split_k;
  problem.epilogue = epilogue_of(options);
  const bool blocked = options.scale_layout == "blocked";
  if (blocked && options.files.scale_a.empty() && options.files.scale_b.empty())
    refuse("--scale-layout: found blocked without scales, allowed: with --scale-a or --scale-b");
  mmaudit::MatmulOptions how = how_of(options);
  try_outputs(options.outputs.files({{"--out", options.out}}), {{"--a", options.files.a},
                                                                {"--b", options.files.b},
                                                                {"--c", options.files.c},
                                                                {"--scale-a", options.files.scale_a},
                                                                {"--scale-b", options.files.scale_b},
                                                                {"--metadata", options.files.metadata},
                                                                {"--factor-a", options.factor_a},
                                                                {"--factor-b", options.factor_b},
                                                                {"--model", context.model_file}});
  corpus::check_tensor_target(options.out);  // not only after hours
  const std::uint64_t limit = options.memory != 0 ? options.memory : available_memory();
  std::uint64_t operands = 0;
  for (const std::string* file : {&options.files.a, &options.files.b, &options.files.c,
                                  &options.files.scale_a, &options.files.scale_b, &options.files.metadata})
    operands += file->empty() ? 0 : corpus::tensor_bytes(*file);
  require_memory(operands, limit, "the operands");

  const std::optional<CastRounding> rounding = find_cast_rounding(options.rounding);
  const CastRule rule{rounding.value_or(CastRounding::nearest_even), options.saturate};
  const CastRule* cast = rounding ? &rule : nullptr;
  const corpus::Operand a = corpus::load_operand("--a", options.files.a, spec_of(instruction.a), {}, cast);
  problem.batch = a.count();
  problem.m = a.tensor.shape[1];
  const std::uint64_t stored = a.tensor.shape[2];
  problem.k = is_sparse(instruction.op) ? 2 * stored : stored;
  const corpus::Operand b = load_b(options, spec_of(instruction.b), problem, cast);
  problem.n = b.tensor.shape[2];
  const FormatSpec output = spec_of(problem.epilogue ? problem.epilogue->output : instruction.d);
  std::optional<corpus::Operand> c;
  if (!options.files.c.empty()) {
    c = corpus::load_operand("--c", options.files.c, output, {problem.batch, problem.m, problem.n}, cast);
    problem.c = c->data();
  }
  const std::uint64_t blocks = scale_blocks(instruction, problem);
  const auto scale_a = corpus::load_scales("--scale-a", options.files.scale_a, instruction, ScaleOwner::a,
                                           problem.batch, problem.m, blocks, blocked);
  const auto scale_b = corpus::load_scales("--scale-b", options.files.scale_b, instruction, ScaleOwner::b,
                                           problem.batch, problem.n, blocks, blocked, options.b_transposed);
  const auto metadata = corpus::load_metadata(options.files.metadata, instruction,
                                              {problem.batch, problem.m, stored}, "matrix");
  if (scale_a) problem.scale_a = scale_a->data();
  if (scale_b) problem.scale_b = scale_b->data();
  if (!metadata.empty()) problem.metadata = metadata.data();
  std::string why = why_no_matmul(instruction, datapath, problem);
  const auto on_device = options.plain ? device::DeviceModel::plain : device::DeviceModel::fast;
  if (why.empty() && options.gpu)
    why = device::why_no_matmul_on_device(instruction, datapath, problem, on_device);
  if (!why.empty()) throw InputError(fmt::format("{} with {}", why, name_of(instruction)));
  const auto bytes = matmul_bytes(instruction, problem, how);
  require_memory(bytes.value_or(UINT64_MAX), limit, "operands, result and work space");

  corpus::Tensor d = corpus::result_tensor(output, {problem.batch, problem.m, problem.n}, a, c);
  if (!a.batched) d.shape.erase(d.shape.begin());
  problem.a = a.data();
  problem.b = b.data();
  problem.d = d.data.data();

  const std::uint64_t total = problem.batch * problem.m * problem.n * problem.k;
  Timing timing{0, static_cast<double>(total)};
  {
    Progress progress(context.quiet, "matmul", total);
    progress.will_write({options.out});
    how.progress = [&progress](std::uint64_t done) { progress.advance(done); };
    const auto start = std::chrono::steady_clock::now();
    if (options.gpu) {
      timing.seconds = device::matmul_on_device(require_device(), instruction, datapath, problem, on_device);
    } else {
      matmul(instruction, datapath, problem, how);
      timing.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  }
  corpus::save_tensor(options.out, d);
  const bool fast = how.fast && (options.gpu || fast_serves(instruction, datapath));
  return options.outputs.publish(
      report_of(instruction, std::string(architecture.name), d, fast, timing, options.out), context);
}

/// The groups of options that only one of the two cases has.
constexpr const char *kOfProducts = "Products of any size", *kHow = "How a product is computed",
                     *kOfTiles = "Tiles of one instruction";

int execute_case(const MatmulOptions& options, const Command& command, const Context& context) {
  const bool tiles = options.tiles || options.on != kOnModel;
  if (const std::string given = command.given_of(kOfTiles); !tiles && !given.empty())
    refuse("{}: found without --tiles, allowed: with it", given);
  for (const char* group : {kOfProducts, kHow})
    if (const std::string given = command.given_of(group); tiles && !given.empty())
      refuse("{}: found with tiles, allowed: without --tiles, with --on model", given);
  if (options.out.empty() && options.on != kOnBoth)
    refuse("--out: found nothing, allowed: a file (it may be left out with --on both)");
  if (options.instruction.empty() && options.scheme.empty())
    refuse("--inst: found nothing, allowed: an instruction, or --scheme");
  if (!options.scheme.empty()) return execute_scheme(options, context);
  return tiles ? compute_tiles(options, context) : execute(options, context);
}

}  // namespace

mmaudit::MatmulOptions how_of(const MatmulOptions& options) {
  mmaudit::MatmulOptions how;
  how.threads = options.threads;
  how.fast = !options.plain;
  if (options.simd.empty()) return how;
  how.level = find_simd_level(options.simd);
  if (!how.level || !has_simd_level(*how.level))
    refuse("--simd: found {}, allowed: {} (on this machine)", options.simd, simd_levels_here());
  return how;
}

report::Report report_of(const Instruction& instruction, const std::string& by, const corpus::Tensor& d,
                         bool fast, const Timing& timing, const std::string& out) {
  const double rate = timing.seconds > 0 ? timing.multiply_adds / timing.seconds / 1e9 : 0;
  report::Report report{.title = fmt::format("{} by the {} model", name_of(instruction), by)};
  report.headline = fmt::format("{}{} -> {} ({} {})", report.title, fast ? "" : " (plain core)", out,
                                corpus::safetensors_name(d.dtype), corpus::to_string(d.shape));
  report.lead = {fmt::format("{:.2f} s, {:.3g} G multiply-adds per second", timing.seconds, rate)};
  report.json = [=, shape = d.shape, dtype = d.dtype] {
    return document({{"schema", "mmaudit.matmul/1"},
                     {"instruction", name_of(instruction)},
                     {"architecture", by},
                     {"shape", shape},
                     {"dtype", corpus::safetensors_name(dtype)},
                     {"fast", fast},
                     {"seconds", timing.seconds},
                     {"out", out}});
  };
  return report;
}

corpus::Operand load_b(const MatmulOptions& options, const FormatSpec& format, const Matmul& problem,
                       const CastRule* cast) {
  corpus::MatrixShape wanted{problem.batch, problem.k};
  if (options.b_transposed) std::swap(wanted.rows, wanted.columns), wanted.packed = true;
  corpus::Operand b = corpus::load_operand("--b", options.files.b, format, wanted, cast);
  if (options.b_transposed) exchange_rows_and_columns(b.tensor, format.storage_bytes());
  return b;
}

void add_matmul(Command& app) {
  auto options = std::make_shared<MatmulOptions>();
  corpus::TileFiles& files = options->files;
  Command command = app.command(
      "matmul",
      "D = A * B + C of any sizes, by the model: a chain of one instruction over K; or tiles, on the GPU too",
      {"mmaudit matmul --inst wgmma.m64n64k32.f32.e4m3.e4m3 --a x.npy --b w.npy --round rn --saturate "
       "--promote 128 --out d.npy",
       "mmaudit matmul --scheme bf16x9 --arch blackwell --a a.npy --b b.npy --out d.npy",
       "mmaudit matmul --on both --inst HMMA.16816.F32 --arch ampere --a t.safetensors:a --b "
       "t.safetensors:b"});
  command.section("Which instruction");
  add_architecture_options(command, options->architecture);
  add_instruction_option(command, options->instruction);
  command.section("Matrices");
  command
      .option(
          "--a FILE", files.a,
          "A: (M, K) or (batch, M, K), row-major, .npy[:format] or .safetensors[:tensor]; sparse (M, K/2)")
      .required();
  command.option("--b FILE", files.b, "B: (K, N) or (batch, K, N), row-major").required();
  command.option("--c FILE", files.c,
                 "C: (M, N) or (batch, M, N) in D's format; the old accumulator for wgmma and tcgen05; "
                 "omitted: +0");
  command.option("--scale-a FILE", files.scale_a,
                 "block-scaled: scale bytes of A, (M, K / block) or with a batch; omitted: every scale is 1");
  command.option(
      "--scale-b FILE", files.scale_b,
      "block-scaled: scale bytes of B, (K / block, N); with --b-transposed as checkpoints keep them, "
      "(N, K / block) or (N / 128, K / 128)");
  command.option("--metadata FILE", files.metadata,
                 "sparse: (M, K/2) of bytes, the position of every element of A inside its group");
  command.option("--out FILE", options->out,
                 "D: .npy or .safetensors; raw bits if C (or A) was raw bits; required but with --on both");
  command.section(kOfTiles);
  command
      .option("--on", options->on,
              "gpu: tiles by the GPU of this machine; both: by the model too, and where "
              "their bits differ")
      .one_of({kOnModel, kOnGpu, kOnBoth});
  command.flag("--tiles", options->tiles,
               "the batch is of tiles, each as large as the instruction (implied by --on gpu, both)");
  add_modifier_options(command, options->modifiers);
  command.section(kOfProducts);
  command.flag(
      "--b-transposed", options->b_transposed,
      "the file of B is (N, K), as the weight of torch.nn.Linear; of 4 bits also (N, K / 2) bytes of "
      "two, the first in the low half, where a checkpoint's tensor is named .weight or .weight_packed");
  command
      .option("--scale-layout", options->scale_layout,
              "blocked: the tiles of 128 x 4 that cuBLASLt and torch._scaled_mm take")
      .one_of({"rows", "blocked"});
  command.option("--factor-a FACTOR", options->factor_a,
                 "factor of all of A (NVFP4's second level), a number or a file with one: alpha times "
                 "factor a times factor b, in binary32, is the epilogue's alpha; of a *_global_scale, which "
                 "compressed-tensors keeps as the reciprocal, 1 over it");
  command.option("--factor-b FACTOR", options->factor_b, "factor of all of B");
  command.option("--scheme SCHEME", options->scheme,
                 "binary32 or binary64 out of smaller formats, by the newest unit or --inst: one of " +
                     with_commas(slicing_names()) + "; --promote is then the k of a round of products");
  command.option("--promote", options->promote,
                 "add the running sum to a binary32 total after each stretch of k this long; 0: never");
  command.option("--split-k", options->split_k, "slices of K, summed in binary32 in ascending order");
  const Option alpha =
      command.option("--alpha", options->alpha, "epilogue: fma(alpha, sum, beta * C) in binary32");
  const Option beta =
      command.option("--beta", options->beta, "without --alpha, --beta, --d-format C starts the chain");
  command.option("--d-format FORMAT", options->output,
                 "f32, f16 or bf16: the epilogue's one rounding at the end");
  command.section(kHow);
  command.option("--threads", options->threads, "threads; 0: one per core; the result does not depend on it")
      .range(0, 4096);
  command.option("--simd", options->simd,
                 "portable, avx2, avx512 or avx512vnni; the result does not depend on it");
  command.flag("--plain", options->plain,
               "the plain core alone, without vector code; with --gpu without the fast kernels");
  command.flag("--gpu", options->gpu,
               "compute the model on the GPU of this machine; the result does not depend on it");
  command
      .option("--round", options->rounding,
              "convert floats of other formats to the operands', rounded so (as `mmaudit convert`); without "
              "it they are refused")
      .one_of(names_of(kCastRoundings));
  command.flag("--saturate", options->saturate, "with --round: beyond the largest number gives that number");
  command.option("--memory BYTES", options->memory, "bytes of memory to use at most; 0: what is available");
  options->outputs.add_to(command);
  command.runs([options, command, alpha, beta](const Context& context) {
    options->has_alpha = alpha.given();
    options->has_beta = beta.given();
    return execute_case(*options, command, context);
  });
}

}  // namespace mmaudit::cli
