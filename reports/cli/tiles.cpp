// mmaudit matmul --tiles: tiles from files, through the model, the GPU, or both.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "matmul_case.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::cli {
namespace {

/// Runs the batch piece by piece, with a bar.
void run(const Backend& backend, const Instruction& inst, TileView batch, const TilesOptions& options,
         const Context& context) {
  const TileExtents each(inst);
  const std::uint64_t piece = std::max<std::uint64_t>(1, 100'000 / (each.m * each.n));
  Progress progress(context.quiet, "tiles", batch.tiles);
  progress.will_write({options.out});
  const auto skip = [](auto& pointer, std::size_t bytes) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<std::decay_t<decltype(pointer)>>>,
                                    const std::byte, std::byte>;
    if (pointer == nullptr) return;
    pointer = reinterpret_cast<std::decay_t<decltype(pointer)>>(reinterpret_cast<Byte*>(pointer) + bytes);
  };
  const auto width = [](Format format) { return spec_of(format).storage_bytes(); };
  for (std::size_t left = batch.tiles; left != 0;) {
    const std::size_t now = batch.tiles = std::min<std::size_t>(piece, left);
    backend.run(inst, batch);
    skip(batch.a, now * each.m * each.stored * width(inst.a));
    skip(batch.b, now * each.k * each.n * width(inst.b));
    skip(batch.c, now * each.m * each.n * width(inst.c));
    skip(batch.d, now * each.m * each.n * width(inst.d));
    skip(batch.modifiers, now);
    skip(batch.scale_a, now * each.m * each.blocks);
    skip(batch.scale_b, now * each.blocks * each.n);
    skip(batch.metadata, now * each.m * each.stored);
    left -= now;
    progress.advance(now);
  }
}

report::Report report_of(const Comparison& found, const device::DeviceInfo& gpu, const Backend& model) {
  report::Report out{.title = fmt::format("{} on {} (driver {}) against the {}", name_of(found.instruction),
                                          gpu.name, gpu.driver, model.name)};
  out.headline =
      fmt::format("{}: {} dot products, {} mismatches", out.title, found.dots(), found.mismatches());
  out.tone = found.mismatches() == 0 ? report::Tone::good : report::Tone::bad;
  const FormatSpec format = spec_of(found.instruction.d);
  out.sections.push_back(section_of(report::table_of<Mismatch>(
      "Where they differ", found.examples,
      {{{"tile", true}, [](const Mismatch& one) { return std::to_string(one.dot.tile); }},
       {{"row", true}, [](const Mismatch& one) { return std::to_string(one.dot.row); }},
       {{"column", true}, [](const Mismatch& one) { return std::to_string(one.dot.column); }},
       {"hardware", [=](const Mismatch& one) { return hex_value(one.expected, format); }},
       {"model", [=](const Mismatch& one) { return hex_value(one.found, format); }},
       {{"ulp", true}, [=](const Mismatch& one) { return ulps_text(one.expected, one.found, format); }}})));
  out.json = [=, inst = found.instruction, dots = found.dots(), mismatches = found.mismatches()] {
    return document({{"schema", "mmaudit.compare/1"},
                     {"instruction", name_of(inst)},
                     {"device", gpu.name},
                     {"driver", gpu.driver},
                     {"dots", dots},
                     {"mismatches", mismatches}});
  };
  return out;
}

}  // namespace

int compute_tiles(const TilesOptions& options, const Context& context) {
  if (options.on == kOnGpu && (!options.architecture.empty() || !context.model_file.empty()))
    refuse("--arch, --model: found with --on gpu, allowed: with --on model, both");
  const Instruction inst = require_instruction(options.instruction);
  std::optional<Backend> model, hardware;
  if (options.on != kOnGpu) {
    const Architecture& architecture = require_architecture(context, options.architecture);
    require_datapath(architecture, inst);
    model = model_backend(architecture);
    model->name = std::string(architecture.name) + " model";
  }
  const corpus::TileFiles& files = options.files;
  try_outputs(options.outputs.files({{"--out", options.out}}), {{"--a", files.a},
                                                                {"--b", files.b},
                                                                {"--c", files.c},
                                                                {"--scale-a", files.scale_a},
                                                                {"--scale-b", files.scale_b},
                                                                {"--metadata", files.metadata},
                                                                {"--model", context.model_file}});
  if (!options.out.empty()) corpus::check_tensor_target(options.out);
  const corpus::TileOperands operands =
      corpus::load_tile_operands(options.files, inst, modifier_bits(inst, options.modifiers));
  // Only once the user's part is known to be good is the machine asked for a GPU.
  device::DeviceInfo gpu;
  if (options.on != kOnModel) {
    gpu = require_device();
    hardware = device::hardware_backend(gpu);
  }
  const Backend& first = hardware ? *hardware : *model;
  corpus::Tensor result = corpus::result_tensor(
      spec_of(inst.d),
      {operands.tiles, static_cast<std::uint64_t>(inst.m), static_cast<std::uint64_t>(inst.n)}, operands.a,
      operands.c);
  const TileView batch = operands.view(result);
  run(first, inst, batch, options, context);
  if (!options.out.empty()) corpus::save_tensor(options.out, result);
  if (options.on == kOnBoth) {
    corpus::Tensor other = result;
    run(*model, inst, operands.view(other), options, context);
    Comparison found{inst, {}, {}};
    compare_tiles(batch, other.data.data(), {}, 0, operands.tiles, kMostExamples, found);
    return options.outputs.publish(report_of(found, gpu, *model), context);
  }
  report::Report report{.title = fmt::format("{} by the {}", name_of(inst), first.name)};
  report.headline =
      fmt::format("{}: {} tile{} by the {}{} ({} {})", name_of(inst), operands.tiles,
                  operands.tiles == 1 ? "" : "s", first.name, options.out.empty() ? "" : " -> " + options.out,
                  corpus::safetensors_name(result.dtype), corpus::to_string(result.shape));
  report.json = [&] {
    return document({{"schema", "mmaudit.tiles/1"},
                     {"instruction", name_of(inst)},
                     {"by", first.name},
                     {"tiles", operands.tiles},
                     {"shape", result.shape},
                     {"dtype", corpus::safetensors_name(result.dtype)},
                     {"out", options.out}});
  };
  return options.outputs.publish(std::move(report), context);
}

}  // namespace mmaudit::cli
