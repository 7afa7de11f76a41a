#include "mmaudit/backend.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "mmaudit/emulate.hpp"
#include "mmaudit/matmul.hpp"
#include "tile/tile_dots.hpp"

namespace mmaudit {
namespace {

void run_fast(const Instruction& inst, const Datapath& datapath, const TileView& batch) {
  const bool modified =
      batch.modifiers != nullptr &&
      std::any_of(batch.modifiers, batch.modifiers + batch.tiles, [](std::uint8_t x) { return x != 0; });
  if (modified || !fast_serves(inst, datapath)) return emulate(inst, datapath, batch);
  matmul(inst, datapath, product_of(inst, batch));
}

void run_plain(const Instruction& inst, const Datapath& datapath, const TileView& batch) {
  emulate_by(Unpacking::never, inst, datapath, batch);
}

}  // namespace

Backend backend_by_datapath(
    const Architecture& architecture, std::string name,
    std::function<void(const Instruction& instruction, const Datapath& datapath, const TileView& batch)>
        run) {
  const auto why_not = [&architecture](const Instruction& inst, std::uint8_t /*modifiers*/) {
    return find_datapath(architecture, inst) != nullptr
               ? std::string()
               : std::string(architecture.name) + " has no " + name_of(inst);
  };
  const auto by_datapath = [&architecture, run = std::move(run)](const Instruction& inst,
                                                                 const TileView& batch) {
    const DatapathEntry* entry = find_datapath(architecture, inst);
    if (entry == nullptr) throw std::invalid_argument("no datapath for " + name_of(inst));
    run(inst, entry->datapath, batch);
  };
  return {std::move(name), why_not, by_datapath};
}

Matmul product_of(const Instruction& inst, const TileView& batch) {
  Matmul product;
  product.batch = batch.tiles;
  product.m = static_cast<std::uint64_t>(inst.m);
  product.n = static_cast<std::uint64_t>(inst.n);
  product.k = static_cast<std::uint64_t>(inst.k);
  product.a = batch.a;
  product.b = batch.b;
  product.c = batch.c;
  product.d = batch.d;
  product.scale_a = batch.scale_a;
  product.scale_b = batch.scale_b;
  product.metadata = batch.metadata;
  return product;
}

Backend model_backend(const Architecture& architecture) {
  return backend_by_datapath(architecture, "model of " + std::string(architecture.name), emulate);
}

Backend fast_backend(const Architecture& architecture) {
  return backend_by_datapath(architecture, "model of " + std::string(architecture.name), run_fast);
}

Backend plain_backend(const Architecture& architecture) {
  return backend_by_datapath(architecture, "plain core of " + std::string(architecture.name), run_plain);
}

}  // namespace mmaudit
