// mmaudit emulate, run, compare: tiles from files, through the model, the GPU, or both.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "common.hpp"
#include "mismatch_text.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/dtype.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/value_text.hpp"
#include "operands.hpp"
#include "replay.hpp"

namespace mmaudit::cli {
namespace {

enum class What { emulate, run, compare };

struct TilesOptions {
  std::string architecture, instruction, a, b, c, scale_a, scale_b, metadata, out;
  ModifierOptions modifiers;
  bool json = false;
};

/// Operands as files have them.
struct Operands {
  Operand a, b;
  std::optional<Operand> c, scale_a, scale_b;
  std::vector<std::uint8_t> modifiers, metadata;
  std::uint64_t tiles = 0;
};

/// --metadata: (tiles, M, K/2) of bytes; empty for a dense instruction.
std::vector<std::uint8_t> load_metadata(const TilesOptions& options, const Instruction& inst,
                                        const MatrixShape& shape) {
  if (options.metadata.empty() != !is_sparse(inst.op))
    throw InputError(
        fmt::format("--metadata: found {} with {}, allowed: with sparse instructions, which need it",
                    options.metadata.empty() ? "none" : "some", name_of(inst)));
  if (options.metadata.empty()) return {};
  const Operand bytes = load_operand("--metadata", options.metadata, spec_of(Format::u8), shape);
  std::vector<std::uint8_t> metadata(bytes.tensor.data.size());
  std::memcpy(metadata.data(), bytes.data(), metadata.size());
  if (const std::string reason = why_bad_metadata(inst, metadata, shape.count); !reason.empty())
    throw InputError(fmt::format("{}: --metadata: {}", options.metadata, reason));
  return metadata;
}

Operands load_operands(const TilesOptions& options, const Instruction& inst) {
  const auto m = static_cast<std::uint64_t>(inst.m), n = static_cast<std::uint64_t>(inst.n),
             k = static_cast<std::uint64_t>(inst.k), stored = static_cast<std::uint64_t>(inst.stored_k()),
             blocks = static_cast<std::uint64_t>(scales_of(inst));
  Operands out;
  out.a = load_operand("--a", options.a, spec_of(inst.a), {0, m, stored});
  const std::uint64_t tiles = out.tiles = out.a.count();
  if (tiles == 0) throw InputError(fmt::format("{}: --a: found no tiles, allowed: at least one", options.a));
  out.b = load_operand("--b", options.b, spec_of(inst.b), {tiles, k, n});
  if (!options.c.empty()) out.c = load_operand("--c", options.c, spec_of(inst.c), {tiles, m, n});
  const auto scales = [&](const char* option, const std::string& file,
                          const MatrixShape& shape) -> std::optional<Operand> {
    if (file.empty()) return std::nullopt;
    if (inst.scale == Format::none)
      throw InputError(
          fmt::format("{}: found with {}, allowed with block-scaled instructions only (kind_mx...)", option,
                      name_of(inst)));
    Operand operand = load_operand(option, file, spec_of(inst.scale), shape);
    if (!operand.raw)
      throw InputError(fmt::format("{}: {} dtype: found {}, allowed {} (raw bits of {})", file, option,
                                   corpus::safetensors_name(operand.tensor.dtype),
                                   corpus::safetensors_name(corpus::raw_type(spec_of(inst.scale))),
                                   name_of(inst.scale)));
    return operand;
  };
  out.scale_a = scales("--scale-a", options.scale_a, {tiles, m, blocks});
  out.scale_b = scales("--scale-b", options.scale_b, {tiles, blocks, n});
  out.modifiers.assign(tiles, modifier_bits(inst, options.modifiers));
  out.metadata = load_metadata(options, inst, {tiles, m, stored});
  return out;
}

TileView view_of(const Operands& from, corpus::Tensor& d) {
  const auto bytes_of = [](const std::optional<Operand>& operand) {
    return operand ? static_cast<const std::uint8_t*>(operand->data()) : nullptr;
  };
  return {.tiles = from.tiles,
          .a = from.a.data(),
          .b = from.b.data(),
          .c = from.c ? from.c->data() : nullptr,
          .d = d.data.data(),
          .modifiers = from.modifiers.data(),
          .scale_a = bytes_of(from.scale_a),
          .scale_b = bytes_of(from.scale_b),
          .metadata = from.metadata.empty() ? nullptr : from.metadata.data()};
}

std::string difference_text(const Mismatch& one, const FormatSpec& format) {
  const auto bits = [&](std::uint64_t x) {
    return fmt::format("0x{} = {}", hex_text(x, format.storage_bits), value_text(x, format));
  };
  return fmt::format("  tile {} row {} column {}: hardware {}, model {}, {} ulp\n", one.dot.tile, one.dot.row,
                     one.dot.column, bits(one.expected), bits(one.found),
                     ulps_text(one.expected, one.found, format));
}

int report_comparison(const TilesOptions& options, const Comparison& found, const device::DeviceInfo& gpu,
                      const Backend& model) {
  if (options.json) {
    const nlohmann::json out = {{"schema", "mmaudit.compare/1"},
                                {"instruction", name_of(found.instruction)},
                                {"device", gpu.name},
                                {"driver", gpu.driver},
                                {"dots", found.dots()},
                                {"mismatches", found.mismatches()}};
    emit("-", out.dump(2) + "\n");
  } else {
    std::string text = fmt::format("{} on {} (driver {}) against the {}: {} dot products, {} mismatches\n",
                                   name_of(found.instruction), gpu.name, gpu.driver, model.name, found.dots(),
                                   found.mismatches());
    for (const Mismatch& one : found.examples) text += difference_text(one, spec_of(found.instruction.d));
    emit("-", text);
  }
  return found.mismatches() == 0 ? kAllGood : kMismatch;
}

int execute(const TilesOptions& options, What what, const Context& context) {
  const Instruction inst = require_instruction(options.instruction);
  std::optional<Backend> model, hardware;
  if (what != What::run) {
    const Architecture& architecture = require_architecture(context, options.architecture);
    require_datapath(architecture, inst);
    model = model_backend(architecture);
    model->name = std::string(architecture.name) + " model";
  }
  if (!options.out.empty()) corpus::check_tensor_target(options.out);
  const Operands operands = load_operands(options, inst);
  // Only once the user's part is known to be good is the machine asked for a GPU.
  device::DeviceInfo gpu;
  if (what != What::emulate) {
    gpu = require_device();
    hardware = device::hardware_backend(gpu);
  }
  const Backend& first = hardware ? *hardware : *model;
  corpus::Tensor result =
      result_tensor(spec_of(inst.d),
                    {operands.tiles, static_cast<std::uint64_t>(inst.m), static_cast<std::uint64_t>(inst.n)},
                    operands.a, operands.c);
  const TileView batch = view_of(operands, result);
  first.run(inst, batch);
  if (!options.out.empty()) corpus::save_tensor(options.out, result);
  if (what == What::compare) {
    corpus::Tensor other = result;
    model->run(inst, view_of(operands, other));
    Comparison found{inst, {}, {}};
    compare_tiles(batch, other.data.data(), {}, 0, operands.tiles, kMostExamples, found);
    return report_comparison(options, found, gpu, *model);
  }
  if (options.json) {
    const nlohmann::json out = {{"schema", "mmaudit.tiles/1"},
                                {"instruction", name_of(inst)},
                                {"by", first.name},
                                {"tiles", operands.tiles},
                                {"shape", result.shape},
                                {"dtype", corpus::safetensors_name(result.dtype)},
                                {"out", options.out}};
    emit("-", out.dump(2) + "\n");
  } else {
    emit("-", fmt::format("{}: {} tile{} by the {} -> {} ({} {})\n", name_of(inst), operands.tiles,
                          operands.tiles == 1 ? "" : "s", first.name, options.out,
                          corpus::safetensors_name(result.dtype), corpus::to_string(result.shape)));
  }
  return kAllGood;
}

void add(Command& app, What what, const char* name, const char* description, const char* example) {
  auto options = std::make_shared<TilesOptions>();
  Command command = app.command(name, description, {example});
  if (what != What::run) add_architecture_options(command, options->architecture);
  add_instruction_option(command, options->instruction).required();
  command
      .option("--a", options->a,
              "A: (tiles, M, K), sparse (tiles, M, K/2); file.npy or file.safetensors[:tensor]")
      .required();
  command.option("--b", options->b, "B: (tiles, K, N)").required();
  command.option("--c", options->c,
                 "C: (tiles, M, N); the old accumulator for wgmma and tcgen05; omitted: +0");
  command.option("--scale-a", options->scale_a,
                 "block-scaled: scale bytes of A, (tiles, M, K / block), uint8; omitted: every scale is 1");
  command.option("--scale-b", options->scale_b, "block-scaled: scale bytes of B, (tiles, K / block, N)");
  command.option("--metadata", options->metadata,
                 "sparse: (tiles, M, K/2) of bytes, the position of every element of A inside its group");
  Option out =
      command.option("--out", options->out, "D: .npy or .safetensors; raw bits if C (or A) was raw bits");
  if (what != What::compare) out.required();
  add_modifier_options(command, options->modifiers);
  command.flag("--json", options->json, "report as JSON");
  command.runs([options, what](const Context& context) { return execute(*options, what, context); });
}

}  // namespace

void add_tiles(Command& app) {
  add(app, What::emulate, "emulate", "D = A * B + C of tiles, by the model",
      "mmaudit emulate --arch hopper --inst mma.m16n8k16.f32.f16.f16.f32 --a a.npy --b b.npy --out d.npy");
  add(app, What::run, "run", "D = A * B + C of tiles, on the GPU of this machine",
      "mmaudit run --inst mma.m16n8k16.f32.f16.f16.f32 --a a.npy --b b.npy --out d.npy");
  add(app, What::compare, "compare", "Tiles by the model and on the GPU, and where their bits differ",
      "mmaudit compare --inst mma.m16n8k16.f32.f16.f16.f32 --a a.npy --b b.npy");
}

}  // namespace mmaudit::cli
