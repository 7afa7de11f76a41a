#include "mmaudit/laws/backend.hpp"

#include <stdexcept>

#include "mmaudit/architecture.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::laws {
namespace {

const AccumulatorModel& row_of(const Architecture& architecture, const Instruction& instruction) {
  const DatapathRow* row = find_datapath(architecture, instruction);
  if (row == nullptr) throw std::invalid_argument("no row for " + name_of(instruction));
  return row->model;
}

std::string lacks(const Architecture& architecture, const Instruction& instruction) {
  return find_datapath(architecture, instruction) != nullptr
             ? ""
             : std::string(architecture.name) + " has no " + name_of(instruction);
}

void run_reference(const Architecture& architecture, const Instruction& is, const TileBatch& batch) {
  const AccumulatorModel& row = row_of(architecture, is);
  const auto load = [](const void* base, Format format, std::size_t at) {
    return base == nullptr ? 0 : load_word(base, spec_of(format).storage_bytes(), at);
  };
  const auto m = static_cast<std::size_t>(is.m), n = static_cast<std::size_t>(is.n),
             k = static_cast<std::size_t>(is.k), stored = static_cast<std::size_t>(is.stored_k());
  const auto blocks = static_cast<std::size_t>(scales_of(is));
  std::vector<std::uint64_t> a(stored), b(k);
  std::vector<std::uint8_t> scale_a(blocks), scale_b(blocks);
  for (std::size_t tile = 0; tile < batch.tiles; ++tile)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t x = 0; x < stored; ++x) a[x] = load(batch.a, is.a, (tile * m + i) * stored + x);
        for (std::size_t x = 0; x < k; ++x) b[x] = load(batch.b, is.b, (tile * k + x) * n + j);
        const std::size_t element = (tile * m + i) * n + j;
        const std::span<const std::uint8_t> metadata =
            batch.metadata == nullptr
                ? std::span<const std::uint8_t>{}
                : std::span<const std::uint8_t>(batch.metadata + (tile * m + i) * stored, stored);
        for (std::size_t block = 0; block < blocks; ++block) {
          scale_a[block] = batch.scale_a[(tile * m + i) * blocks + block];
          scale_b[block] = batch.scale_b[(tile * blocks + block) * n + j];
        }
        const std::uint64_t d = oracle::reference_dot(is, row, a, b, load(batch.c, is.c, element),
                                                      batch.modifiers != nullptr ? batch.modifiers[tile] : 0U,
                                                      {scale_a, scale_b}, metadata);
        store_word(batch.d, spec_of(is.d).storage_bytes(), element, d);
      }
}

}  // namespace

Backend host_model(const Architecture& architecture) {
  return {"model of " + std::string(architecture.name),
          [&architecture](const Instruction& is, std::uint8_t) { return lacks(architecture, is); },
          [&architecture](const Instruction& is, const TileBatch& batch) {
            emulate(is, row_of(architecture, is), batch);
          }};
}

Backend wrong_model(const Subject& subject, const AccumulatorModel& wrong, std::string name) {
  const Architecture& architecture = *subject.architecture;
  return {std::move(name),
          [&architecture](const Instruction& is, std::uint8_t) { return lacks(architecture, is); },
          [&architecture, is = subject.instruction, wrong](const Instruction& one, const TileBatch& batch) {
            emulate(one, one == is ? wrong : row_of(architecture, one), batch);
          }};
}

Backend reference_model(const Architecture& architecture) {
  return {"reference model of " + std::string(architecture.name),
          [&architecture](const Instruction& is, std::uint8_t) { return lacks(architecture, is); },
          [&architecture](const Instruction& is, const TileBatch& batch) {
            run_reference(architecture, is, batch);
          }};
}

void answer(const Backend& backend, std::span<Tile*> tiles) {
  if (tiles.empty()) return;
  const Instruction& is = tiles.front()->instruction;
  gen::HostTiles packed(is);
  packed.tiles = tiles.size();
  const auto pack = [&](std::vector<std::byte>& to, Format format, std::vector<std::uint64_t> Tile::*from) {
    const std::size_t bytes = spec_of(format).storage_bytes(), each = (tiles.front()->*from).size();
    to.resize(tiles.size() * each * bytes);
    for (std::size_t t = 0; t < tiles.size(); ++t)
      for (std::size_t i = 0; i < each; ++i) gen::store_bits(to, bytes, t * each + i, (tiles[t]->*from)[i]);
  };
  pack(packed.a, is.a, &Tile::a);
  pack(packed.b, is.b, &Tile::b);
  pack(packed.c, is.c, &Tile::c);
  for (const Tile* tile : tiles) {
    packed.modifiers.push_back(tile->modifiers);
    packed.metadata.insert(packed.metadata.end(), tile->metadata.begin(), tile->metadata.end());
    packed.scale_a.insert(packed.scale_a.end(), tile->scale_a.begin(), tile->scale_a.end());
    packed.scale_b.insert(packed.scale_b.end(), tile->scale_b.begin(), tile->scale_b.end());
  }
  backend.run(is, packed.batch());
  const std::size_t bytes = spec_of(is.d).storage_bytes(), each = tiles.front()->c.size();
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    tiles[t]->d.resize(each);
    for (std::size_t i = 0; i < each; ++i) tiles[t]->d[i] = gen::load_bits(packed.d, bytes, t * each + i);
  }
}

}  // namespace mmaudit::laws
