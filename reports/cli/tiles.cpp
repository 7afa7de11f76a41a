// mmaudit emulate, run, compare: tiles from files, through the model, the GPU, or both.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "common.hpp"
#include "dtype.hpp"
#include "mismatch_text.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::cli {
namespace {

enum class What { emulate, run, compare };

struct TilesOptions {
  std::string architecture, instruction, a, b, c, scale_a, scale_b, metadata, out;
  bool json = false, negate_a = false, negate_b = false;
  int scale_d = 1;
};

struct Operand3 {
  corpus::Tensor tensor;
  bool raw = false;
};

/// A (tiles, rows, columns) operand; a plain matrix counts as one tile.
Operand3 load_operand(const std::string& option, const std::string& file, const FormatSpec& format,
                      std::uint64_t rows, std::uint64_t columns) {
  Operand3 operand{corpus::load_tensor(file), false};
  corpus::Tensor& tensor = operand.tensor;
  if (tensor.shape.size() == 2) tensor.shape.insert(tensor.shape.begin(), 1);
  operand.raw = tensor.dtype == raw_type(format);
  if (!operand.raw && tensor.dtype != value_type(format.id)) {
    throw InputError(fmt::format("{}: {} dtype: found {}, allowed {} (raw bits of {}) or {}", file, option,
                                 corpus::safetensors_name(tensor.dtype),
                                 corpus::safetensors_name(raw_type(format)), name_of(format.id),
                                 corpus::safetensors_name(value_type(format.id))));
  }
  if (tensor.shape.size() != 3 || tensor.shape[1] != rows || tensor.shape[2] != columns ||
      tensor.shape[0] == 0) {
    throw InputError(fmt::format("{}: {} shape: found {}, allowed [tiles, {}, {}]", file, option,
                                 corpus::to_string(tensor.shape), rows, columns));
  }
  return operand;
}

struct Work {
  Instruction instruction;
  const Architecture* architecture = nullptr;
  const DatapathEntry* entry = nullptr;
  std::optional<device::DeviceInfo> gpu;
  Operand3 a, b;
  std::optional<Operand3> c, scale_a, scale_b;
  std::vector<std::uint8_t> modifiers, metadata;
  std::uint64_t tiles = 0;
};

/// --metadata: (tiles, M, K/2) of bytes, as `tiles` tiles of A; empty for a dense instruction.
std::vector<std::uint8_t> load_metadata(const TilesOptions& options, const Instruction& inst,
                                        std::uint64_t tiles) {
  if (options.metadata.empty() != !is_sparse(inst.op))
    throw InputError(
        fmt::format("--metadata: found {} with {}, allowed: with sparse instructions, which need it",
                    options.metadata.empty() ? "none" : "some", name_of(inst)));
  if (options.metadata.empty()) return {};
  corpus::Tensor tensor = corpus::load_tensor(options.metadata);
  if (tensor.shape.size() == 2) tensor.shape.insert(tensor.shape.begin(), 1);
  const std::vector<std::uint64_t> expected = {tiles, static_cast<std::uint64_t>(inst.m),
                                               static_cast<std::uint64_t>(inst.stored_k())};
  if (tensor.dtype != corpus::DType::u8 || tensor.shape != expected)
    throw InputError(fmt::format("{}: --metadata: found {} {}, allowed U8 {}", options.metadata,
                                 corpus::safetensors_name(tensor.dtype), corpus::to_string(tensor.shape),
                                 corpus::to_string(expected)));
  std::vector<std::uint8_t> metadata(tensor.data.size());
  std::memcpy(metadata.data(), tensor.data.data(), metadata.size());
  if (const std::string reason = why_bad_metadata(inst, metadata, tiles); !reason.empty())
    throw InputError(fmt::format("{}: --metadata: {}", options.metadata, reason));
  return metadata;
}

Work load_work(const TilesOptions& options, What what, const Context& context) {
  Work work;
  work.instruction = require_instruction(options.instruction);
  const Instruction& inst = work.instruction;
  if (what != What::run) {
    work.architecture = &require_architecture(context, options.architecture);
    work.entry = &require_datapath(*work.architecture, inst);
  }
  const auto m = static_cast<std::uint64_t>(inst.m);
  const auto n = static_cast<std::uint64_t>(inst.n);
  const auto k = static_cast<std::uint64_t>(inst.k);
  work.a = load_operand("--a", options.a, spec_of(inst.a), m, static_cast<std::uint64_t>(inst.stored_k()));
  work.b = load_operand("--b", options.b, spec_of(inst.b), k, n);
  work.tiles = work.a.tensor.shape[0];
  const auto same_tiles = [&](const char* option, const std::string& file, const Operand3& x) {
    if (x.tensor.shape[0] == work.tiles) return;
    throw InputError(fmt::format("{}: {} tiles: found {}, allowed {} (as --a)", file, option,
                                 x.tensor.shape[0], work.tiles));
  };
  same_tiles("--b", options.b, work.b);
  if (!options.c.empty()) {
    work.c = load_operand("--c", options.c, spec_of(inst.c), m, n);
    same_tiles("--c", options.c, *work.c);
  }
  const auto scales = [&](const char* option, const std::string& file, std::uint64_t rows,
                          std::uint64_t columns) -> std::optional<Operand3> {
    if (file.empty()) return std::nullopt;
    if (inst.scale == Format::none)
      throw InputError(
          fmt::format("{}: found with {}, allowed with block-scaled instructions only (kind_mx...)", option,
                      name_of(inst)));
    Operand3 operand = load_operand(option, file, spec_of(inst.scale), rows, columns);
    if (!operand.raw)
      throw InputError(fmt::format("{}: {} dtype: found {}, allowed {} (raw bits of {})", file, option,
                                   corpus::safetensors_name(operand.tensor.dtype),
                                   corpus::safetensors_name(raw_type(spec_of(inst.scale))),
                                   name_of(inst.scale)));
    same_tiles(option, file, operand);
    return operand;
  };
  const auto blocks = static_cast<std::uint64_t>(scales_of(inst));
  work.scale_a = scales("--scale-a", options.scale_a, m, blocks);
  work.scale_b = scales("--scale-b", options.scale_b, blocks, n);
  const std::uint8_t modifiers = modifier_bits(inst, options.scale_d, options.negate_a, options.negate_b);
  work.modifiers.assign(work.tiles, modifiers);
  work.metadata = load_metadata(options, inst, work.tiles);
  // Only once the user's part is known to be good is the machine asked for a GPU.
  if (what != What::emulate) work.gpu = require_device();
  return work;
}

corpus::Tensor result_tensor(const Work& work) {
  const FormatSpec format = spec_of(work.instruction.d);
  // Bytes of unsigned integers are raw bits and numbers alike: only C can ask for a raw D.
  const bool raw = work.c ? work.c->raw : work.a.raw && !format.integer();
  corpus::Tensor d;
  d.name = "D";
  d.dtype = raw ? raw_type(format) : value_type(format.id);
  d.shape = {work.tiles, static_cast<std::uint64_t>(work.instruction.m),
             static_cast<std::uint64_t>(work.instruction.n)};
  d.data.resize(work.tiles * static_cast<std::size_t>(work.instruction.m) *
                static_cast<std::size_t>(work.instruction.n) * format.storage_bytes());
  return d;
}

const std::uint8_t* bytes_of(const std::optional<Operand3>& operand) {
  return operand ? reinterpret_cast<const std::uint8_t*>(operand->tensor.data.data()) : nullptr;
}

TileView batch_of(const Work& work, corpus::Tensor& d) {
  return {.tiles = work.tiles,
          .a = work.a.tensor.data.data(),
          .b = work.b.tensor.data.data(),
          .c = work.c ? work.c->tensor.data.data() : nullptr,
          .d = d.data.data(),
          .modifiers = work.modifiers.data(),
          .scale_a = bytes_of(work.scale_a),
          .scale_b = bytes_of(work.scale_b),
          .metadata = work.metadata.empty() ? nullptr : work.metadata.data()};
}

int compare(const TilesOptions& options, const Work& work, const corpus::Tensor& model,
            const corpus::Tensor& hardware) {
  const FormatSpec format = spec_of(work.instruction.d);
  const std::size_t bytes = format.storage_bytes();
  const std::size_t elements = model.data.size() / bytes;
  const std::size_t per_tile = elements / work.tiles;
  const auto n = static_cast<std::size_t>(work.instruction.n);
  std::uint64_t mismatches = 0;
  std::string shown;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t x = gen::load_bits(hardware.data, bytes, i);
    const std::uint64_t y = gen::load_bits(model.data, bytes, i);
    if (x == y || ++mismatches > 8) continue;
    shown +=
        fmt::format("  tile {} row {} column {}: hardware 0x{} = {}, model 0x{} = {}, {} ulp\n", i / per_tile,
                    i % per_tile / n, i % n, hex_text(x, format.storage_bits), value_text(x, format),
                    hex_text(y, format.storage_bits), value_text(y, format), ulps_text(x, y, format));
  }
  if (options.json) {
    const nlohmann::json out = {{"schema", "mmaudit.compare/1"},
                                {"instruction", name_of(work.instruction)},
                                {"device", work.gpu->name},
                                {"driver", work.gpu->driver},
                                {"dots", elements},
                                {"mismatches", mismatches}};
    emit("-", out.dump(2) + "\n");
  } else {
    emit("-", fmt::format("{} on {} (driver {}) against the {} model: {} dot products, {} mismatches\n{}",
                          name_of(work.instruction), work.gpu->name, work.gpu->driver,
                          work.architecture->name, elements, mismatches, shown));
  }
  return mismatches == 0 ? kAllGood : kMismatch;
}

int execute(const TilesOptions& options, What what, const Context& context) {
  const Work work = load_work(options, what, context);
  corpus::Tensor model = result_tensor(work);
  corpus::Tensor hardware = model;
  if (what != What::run) emulate(work.instruction, work.entry->datapath, batch_of(work, model));
  if (what != What::emulate) device::run(*work.gpu, work.instruction, batch_of(work, hardware));
  const corpus::Tensor& result = what == What::emulate ? model : hardware;
  if (!options.out.empty()) corpus::save_tensor(options.out, result);
  if (what == What::compare) return compare(options, work, model, hardware);
  const std::string by =
      what == What::emulate ? std::string(work.architecture->name) + " model" : work.gpu->name;
  if (options.json) {
    const nlohmann::json out = {{"schema", "mmaudit.tiles/1"},
                                {"instruction", name_of(work.instruction)},
                                {"by", by},
                                {"tiles", work.tiles},
                                {"shape", result.shape},
                                {"dtype", corpus::safetensors_name(result.dtype)},
                                {"out", options.out}};
    emit("-", out.dump(2) + "\n");
  } else {
    emit("-", fmt::format("{}: {} tile{} by the {} -> {} ({} {})\n", name_of(work.instruction), work.tiles,
                          work.tiles == 1 ? "" : "s", by, options.out, corpus::safetensors_name(result.dtype),
                          corpus::to_string(result.shape)));
  }
  return kAllGood;
}

void add(Command& app, What what, const char* name, const char* description, const char* example) {
  auto options = std::make_shared<TilesOptions>();
  Command command = app.command(name, description, {example});
  if (what != What::run) {
    command.option("--arch", options->architecture, "architecture of the model")
        .default_text(kDefaultArchitecture);
    add_model_option(command);
  }
  command.option("--inst", options->instruction, "instruction, as `mmaudit list` prints it; N as a number")
      .required();
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
  command.option("--scale-d", options->scale_d, "wgmma, tcgen05: 0 leaves C out").one_of({"0", "1"});
  command.flag("--negate-a", options->negate_a, "wgmma, tcgen05: A negated");
  command.flag("--negate-b", options->negate_b, "wgmma, tcgen05: B negated");
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
