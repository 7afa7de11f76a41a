#include "mmaudit/laws/backend.hpp"

#include <cstring>
#include <stdexcept>

#include "mmaudit/architecture.hpp"
#include "mmaudit/oracles/reference.hpp"

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

/// Elements of `bytes` bytes, packed and back.
class Packed {
 public:
  Packed(std::size_t bytes, std::size_t count) : bytes_(bytes), data_(bytes * count) {}
  void put(std::size_t at, std::uint64_t bits) { std::memcpy(&data_[at * bytes_], &bits, bytes_); }
  [[nodiscard]] std::uint64_t get(std::size_t at) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &data_[at * bytes_], bytes_);
    return bits;
  }
  std::byte* data() { return data_.data(); }

 private:
  std::size_t bytes_;
  std::vector<std::byte> data_;
};

void run_reference(const Architecture& architecture, const Instruction& is, const TileBatch& batch) {
  const AccumulatorModel& row = row_of(architecture, is);
  const auto load = [](const void* base, Format format, std::size_t at) {
    std::uint64_t bits = 0;
    const std::size_t bytes = spec_of(format).storage_bytes();
    if (base != nullptr) std::memcpy(&bits, static_cast<const std::byte*>(base) + at * bytes, bytes);
    return bits;
  };
  const auto m = static_cast<std::size_t>(is.m), n = static_cast<std::size_t>(is.n),
             k = static_cast<std::size_t>(is.k), stored = static_cast<std::size_t>(is.stored_k());
  std::vector<std::uint64_t> a(stored), b(k);
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
        const std::uint64_t d =
            oracle::reference_dot(is, row, a, b, load(batch.c, is.c, element),
                                  batch.modifiers != nullptr ? batch.modifiers[tile] : 0U, {}, metadata);
        const std::size_t bytes = spec_of(is.d).storage_bytes();
        std::memcpy(static_cast<std::byte*>(batch.d) + element * bytes, &d, bytes);
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
  const std::size_t a = tiles.front()->a.size(), b = tiles.front()->b.size(), c = tiles.front()->c.size();
  Packed bits_a(spec_of(is.a).storage_bytes(), a * tiles.size());
  Packed bits_b(spec_of(is.b).storage_bytes(), b * tiles.size());
  Packed bits_c(spec_of(is.c).storage_bytes(), c * tiles.size());
  Packed bits_d(spec_of(is.d).storage_bytes(), c * tiles.size());
  std::vector<std::uint8_t> modifiers, metadata;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const Tile& tile = *tiles[t];
    for (std::size_t i = 0; i < a; ++i) bits_a.put(t * a + i, tile.a[i]);
    for (std::size_t i = 0; i < b; ++i) bits_b.put(t * b + i, tile.b[i]);
    for (std::size_t i = 0; i < c; ++i) bits_c.put(t * c + i, tile.c[i]);
    modifiers.push_back(tile.modifiers);
    metadata.insert(metadata.end(), tile.metadata.begin(), tile.metadata.end());
  }
  backend.run(is, {.tiles = tiles.size(),
                   .a = bits_a.data(),
                   .b = bits_b.data(),
                   .c = bits_c.data(),
                   .d = bits_d.data(),
                   .modifiers = modifiers.data(),
                   .metadata = metadata.empty() ? nullptr : metadata.data()});
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    tiles[t]->d.resize(c);
    for (std::size_t i = 0; i < c; ++i) tiles[t]->d[i] = bits_d.get(t * c + i);
  }
}

}  // namespace mmaudit::laws
