#include "mmaudit/laws/backend.hpp"

#include <stdexcept>

#include "mmaudit/dot_case.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::laws {
namespace {

const Datapath& row_of(const Architecture& architecture, const Instruction& instruction) {
  const DatapathEntry* entry = find_datapath(architecture, instruction);
  if (entry == nullptr) throw std::invalid_argument("no row for " + name_of(instruction));
  return entry->datapath;
}

std::string lacks(const Architecture& architecture, const Instruction& instruction) {
  return find_datapath(architecture, instruction) != nullptr
             ? ""
             : std::string(architecture.name) + " has no " + name_of(instruction);
}

void run_reference(const Architecture& architecture, const Instruction& inst, const TileView& batch) {
  const Datapath& datapath = row_of(architecture, inst);
  for (std::size_t tile = 0; tile < batch.tiles; ++tile)
    for (int i = 0; i < inst.m; ++i)
      for (int j = 0; j < inst.n; ++j) {
        const DotCase dot = dot_at(inst, batch, tile, i, j);
        const std::uint64_t d = oracle::reference_dot(inst, datapath, dot.a, dot.b, dot.c, dot.modifiers,
                                                      {dot.scale_a, dot.scale_b}, dot.metadata);
        const std::size_t element = (tile * static_cast<std::size_t>(inst.m) + static_cast<std::size_t>(i)) *
                                        static_cast<std::size_t>(inst.n) +
                                    static_cast<std::size_t>(j);
        store_word(batch.d, spec_of(inst.d).storage_bytes(), element, d);
      }
}

}  // namespace

Backend wrong_model(const Subject& subject, const Datapath& wrong, std::string name) {
  const Architecture& architecture = *subject.architecture;
  return {std::move(name),
          [&architecture](const Instruction& inst, std::uint8_t) { return lacks(architecture, inst); },
          [&architecture, inst = subject.instruction, wrong](const Instruction& one, const TileView& batch) {
            emulate(one, one == inst ? wrong : row_of(architecture, one), batch);
          }};
}

Backend reference_model(const Architecture& architecture) {
  return {"reference model of " + std::string(architecture.name),
          [&architecture](const Instruction& inst, std::uint8_t) { return lacks(architecture, inst); },
          [&architecture](const Instruction& inst, const TileView& batch) {
            run_reference(architecture, inst, batch);
          }};
}

void answer(const Backend& backend, std::span<Tile*> tiles) {
  if (tiles.empty()) return;
  const Instruction& inst = tiles.front()->instruction;
  TileBatch packed(inst);
  packed.tiles = tiles.size();
  const auto pack = [&](std::vector<std::byte>& to, Format format, std::vector<std::uint64_t> Tile::*from) {
    const std::size_t bytes = spec_of(format).storage_bytes(), each = (tiles.front()->*from).size();
    to.resize(tiles.size() * each * bytes);
    for (std::size_t t = 0; t < tiles.size(); ++t)
      for (std::size_t i = 0; i < each; ++i) gen::store_bits(to, bytes, t * each + i, (tiles[t]->*from)[i]);
  };
  pack(packed.a, inst.a, &Tile::a);
  pack(packed.b, inst.b, &Tile::b);
  pack(packed.c, inst.c, &Tile::c);
  for (const Tile* tile : tiles) {
    packed.modifiers.push_back(tile->modifiers);
    packed.metadata.insert(packed.metadata.end(), tile->metadata.begin(), tile->metadata.end());
    packed.scale_a.insert(packed.scale_a.end(), tile->scale_a.begin(), tile->scale_a.end());
    packed.scale_b.insert(packed.scale_b.end(), tile->scale_b.begin(), tile->scale_b.end());
  }
  backend.run(inst, packed.view());
  const std::size_t bytes = spec_of(inst.d).storage_bytes(), each = tiles.front()->c.size();
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    tiles[t]->d.resize(each);
    for (std::size_t i = 0; i < each; ++i) tiles[t]->d[i] = gen::load_bits(packed.d, bytes, t * each + i);
  }
}

}  // namespace mmaudit::laws
