#include "mmaudit/backend.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit {
namespace {

void run_fast(const Instruction& inst, const Datapath& datapath, const TileView& batch) {
  const bool modified =
      batch.modifiers != nullptr &&
      std::any_of(batch.modifiers, batch.modifiers + batch.tiles, [](std::uint8_t x) { return x != 0; });
  if (modified || !fast_serves(inst, datapath)) return emulate(inst, datapath, batch);
  Matmul product;
  product.batch = batch.tiles;
  product.m = static_cast<std::uint64_t>(inst.m);
  product.n = static_cast<std::uint64_t>(inst.n);
  product.k = static_cast<std::uint64_t>(inst.k);
  product.a = batch.a;
  product.b = batch.b;
  product.c = batch.c;
  product.d = batch.d;
  matmul(inst, datapath, product);
}

void run_plain(const Instruction& inst, const Datapath& datapath, const TileView& batch) {
  const DotPlan plan = make_plan(inst, datapath);
  const auto m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n),
             k = static_cast<std::size_t>(inst.k), stored = static_cast<std::size_t>(inst.stored_k()),
             blocks = static_cast<std::size_t>(scales_of(inst));
  const std::size_t a_bytes = plan.a.storage_bytes(), b_bytes = plan.b.storage_bytes(),
                    c_bytes = plan.step.addend.storage_bytes(), d_bytes = plan.d.storage_bytes();
  std::vector<std::uint64_t> a(m * stored), b(k * n);  // every element is read many times
  for (std::size_t tile = 0; tile < batch.tiles; ++tile) {
    for (std::size_t e = 0; e < a.size(); ++e) a[e] = load_word(batch.a, a_bytes, tile * a.size() + e);
    for (std::size_t e = 0; e < b.size(); ++e) b[e] = load_word(batch.b, b_bytes, tile * b.size() + e);
    const unsigned modifiers = batch.modifiers == nullptr ? 0U : batch.modifiers[tile];
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const std::size_t first_a = (tile * m + i) * stored, element = (tile * m + i) * n + j;
        const Strided<std::uint64_t> row{&a[i * stored]}, column{&b[j], inst.n};
        const std::uint64_t c = batch.c == nullptr ? 0 : load_word(batch.c, c_bytes, element);
        std::uint64_t d = 0;
        if (is_sparse(inst.op)) {
          const Gathered<Strided<std::uint64_t>> met{plan.sparsity, datapath.metadata, plan.b,
                                                     batch.metadata + first_a, column};
          d = dot(plan, row, met, c, modifiers);
        } else if (plan.block_scaled()) {
          ScaleBytes scales{.row = {}, .column = {}, .one = one_bits(plan.scale)};
          if (batch.scale_a != nullptr) scales.row.base = batch.scale_a + (tile * m + i) * blocks;
          if (batch.scale_b != nullptr) scales.column = {batch.scale_b + tile * blocks * n + j, inst.n};
          d = dot(plan, row, column, c, modifiers, scales);
        } else {
          d = dot(plan, row, column, c, modifiers);
        }
        store_word(batch.d, d_bytes, element, d);
      }
    }
  }
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
