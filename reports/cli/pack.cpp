// mmaudit convert pack: a dense A into the stored elements and metadata of a sparse one.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "common.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/sparse_pack.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct PackOptions {
  std::string instruction, a, out, metadata;
  bool prune = false;
  Outputs outputs;
};

int execute(const PackOptions& options, const Context& context) {
  const Instruction inst = require_instruction(options.instruction);
  if (!is_sparse(inst.op))
    refuse("--inst: found {}, allowed: a sparse one (mma.sp, wgmma.sp)", name_of(inst));
  try_outputs(options.outputs.files({{"--out", options.out}, {"--metadata", options.metadata}}),
              {{"--a", options.a}});
  corpus::check_tensor_target(options.out);
  corpus::check_tensor_target(options.metadata);
  const FormatSpec format = spec_of(inst.a);
  const Sparsity sparsity = sparsity_of(inst);
  const corpus::Operand a = corpus::load_operand("--a", options.a, format, {});
  const std::uint64_t rows = a.tensor.shape[1], k = a.tensor.shape[2];
  if (k % static_cast<std::uint64_t>(sparsity.group) != 0)
    refuse("{}: --a shape: found {}, allowed: a multiple of {} columns", options.a,
           corpus::to_string(a.tensor.shape), sparsity.group);
  PackedSparse packed = pack_sparse(sparsity, format, a.data(), a.count() * rows, k);
  if (packed.pruned != 0 && !options.prune)
    refuse(
        "{}: --a: matrix {} row {} column {}: found more than {} of {} elements other than 0, allowed: at "
        "most that many (--prune leaves out the smallest: {} elements in all)",
        options.a, packed.row / rows, packed.row % rows, packed.column, sparsity.kept, sparsity.group,
        packed.pruned);
  corpus::Tensor stored;
  stored.name = "A";
  stored.dtype = a.tensor.dtype;
  stored.shape = {a.count(), rows, k / 2};
  stored.data = std::move(packed.elements);
  corpus::Tensor metadata;
  metadata.name = "metadata";
  metadata.dtype = corpus::DType::u8;
  metadata.shape = stored.shape;
  metadata.data.resize(packed.metadata.size());
  if (!packed.metadata.empty())
    std::memcpy(metadata.data.data(), packed.metadata.data(), packed.metadata.size());
  for (corpus::Tensor* tensor : {&stored, &metadata})
    if (!a.batched) tensor->shape.erase(tensor->shape.begin());
  corpus::save_tensor(options.out, stored);
  corpus::save_tensor(options.metadata, metadata);
  report::Report found{.title = "A dense A as a sparse instruction stores it"};
  found.headline =
      fmt::format("{} of {} elements of every group -> {} ({} {}), positions -> {}; {} elements pruned",
                  sparsity.kept, sparsity.group, options.out, corpus::safetensors_name(stored.dtype),
                  corpus::to_string(stored.shape), options.metadata, packed.pruned);
  found.highlights = {{std::to_string(packed.pruned), "elements pruned"}};
  found.json = [&] {
    return document({{"schema", "mmaudit.pack/1"},
                     {"instruction", name_of(inst)},
                     {"shape", stored.shape},
                     {"pruned", packed.pruned},
                     {"out", options.out},
                     {"metadata", options.metadata}});
  };
  return options.outputs.publish(found, context);
}

}  // namespace

void add_pack(Command& convert) {
  auto options = std::make_shared<PackOptions>();
  Command command =
      convert.command("pack", "A dense A as a sparse instruction stores it: elements and metadata",
                      {"mmaudit convert pack --inst mma.sp.m16n8k32.f32.f16.f16.f32 --a a.npy --prune --out "
                       "s.npy --metadata m.npy",
                       "mmaudit convert pack --inst mma.sp.m16n8k64.f32.e4m3.e4m3.f32 --a pruned.npy --out "
                       "s.npy --metadata m.npy"});
  add_instruction_option(command, options->instruction).required();
  command.option("--a", options->a, "A: (M, K) or (batch, M, K), .npy[:format] or .safetensors[:tensor]")
      .required();
  command.flag(
      "--prune", options->prune,
      "leave out the smallest elements of a group that has too many; without it such an A is refused");
  command.option("--out", options->out, "the stored elements, (M, K/2): .npy or .safetensors").required();
  command.option("--metadata", options->metadata, "their positions, (M, K/2) of bytes: .npy or .safetensors")
      .required();
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return execute(*options, context); });
}

}  // namespace mmaudit::cli
