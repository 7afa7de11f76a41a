#include "mmaudit/device/incidence.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::device {
namespace {

constexpr std::int64_t kMostPairs = std::int64_t{1} << 26;
constexpr std::size_t kChunkBytes = std::size_t{32} << 20;

/// Raw elements of one operand in many tiles.
class Tiles {
 public:
  Tiles(Format format, int rows, int cols, std::size_t count)
      : bytes_(spec_of(format).storage_bytes()),
        one_(spec_of(format).integer() ? 1 : encode_value(1.0, spec_of(format))),
        elements_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)),
        data_(count * elements_ * bytes_) {}
  void clear() { std::fill(data_.begin(), data_.end(), std::byte{0}); }
  void set_one(std::size_t tile, std::size_t element) {
    std::memcpy(&data_[(tile * elements_ + element) * bytes_], &one_, bytes_);  // little-endian host
  }
  [[nodiscard]] std::uint64_t bits(std::size_t tile, std::size_t element) const {
    std::uint64_t value = 0;
    std::memcpy(&value, &data_[(tile * elements_ + element) * bytes_], bytes_);
    return value;
  }
  std::byte* data() { return data_.data(); }

 private:
  std::size_t bytes_;
  std::uint64_t one_;
  std::size_t elements_;
  std::vector<std::byte> data_;
};

/// For every slot the element it holds, row-major.
std::vector<std::size_t> elements_of(const FragmentMap& map) {
  std::vector<std::size_t> elements;
  if (map.lanes == 0) {  // shared memory: in row order
    for (std::size_t i = 0; i < static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.cols); ++i)
      elements.push_back(i);
    return elements;
  }
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      elements.push_back(static_cast<std::size_t>(at.row) * static_cast<std::size_t>(map.cols) +
                         static_cast<std::size_t>(at.col));
    }
  return elements;
}

/// For every element the last of the slots that hold it.
std::vector<std::int32_t> holders_of(const std::vector<std::size_t>& elements) {
  std::vector<std::int32_t> holders(1 + *std::max_element(elements.begin(), elements.end()));
  for (std::size_t slot = 0; slot < elements.size(); ++slot)
    holders[elements[slot]] = static_cast<std::int32_t>(slot);
  return holders;
}

/// Of one tile, a pattern of its own for neighbouring groups and rows; empty for dense instructions.
std::vector<std::uint8_t> metadata_of(const Instruction& instruction) {
  if (!is_sparse(instruction.op)) return {};
  const Sparsity sparsity = sparsity_of(instruction);
  const int stored = instruction.stored_k();
  std::vector<std::uint8_t> metadata(static_cast<std::size_t>(instruction.m) *
                                     static_cast<std::size_t>(stored));
  for (int at = 0; at < static_cast<int>(metadata.size()); at += sparsity.kept)
    write_pattern(sparsity, (at / stored + at / sparsity.kept) % patterns(sparsity),
                  &metadata[static_cast<std::size_t>(at)]);
  return metadata;
}

struct Slots {
  std::vector<std::size_t> a, b, d;
  std::vector<std::int32_t> b_holder,
      d_holder;  ///< of an element that several slots hold, the one that counts

  explicit Slots(const Instruction& instruction) {
    if (!has_fragment_maps(instruction))
      throw InputError("--inst: " + name_of(instruction) + " has no fragment maps");
    a = elements_of(fragment_a(instruction));
    b = elements_of(fragment_b(instruction));
    d = elements_of(fragment_d(instruction));
    b_holder = holders_of(b);
    d_holder = holders_of(d);
    if (static_cast<std::int64_t>(a.size()) * static_cast<std::int64_t>(d.size()) > kMostPairs)
      throw InputError("--inst: found " + name_of(instruction) + ", allowed: at most 2^26 pairs of slots");
  }
  [[nodiscard]] Incidence empty() const {
    Incidence none{
        static_cast<int>(a.size()), static_cast<int>(b.size()), static_cast<int>(d.size()), {}, {}};
    none.partner.assign(a.size() * d.size(), Incidence::kNever);
    none.passed.assign(d.size(), Incidence::kNever);
    return none;
  }
};

class Discovery {
 public:
  Discovery(const Instruction& instruction, std::uint8_t modifiers, const RunTiles& run)
      : is_(instruction),
        run_(run),
        slots_(instruction),
        found_(slots_.empty()),
        chunk_(chunk_of(instruction)),
        modifiers_(chunk_, modifiers),
        a_(is_.a, is_.m, is_.stored_k(), chunk_),
        b_(is_.b, is_.k, is_.n, chunk_),
        c_(is_.c, is_.m, is_.n, chunk_),
        d_(is_.d, is_.m, is_.n, chunk_) {
    const std::vector<std::uint8_t> one = metadata_of(is_);
    for (std::size_t tile = 0; tile < chunk_; ++tile)
      metadata_.insert(metadata_.end(), one.begin(), one.end());
  }

  Incidence discover() {
    const int bits = static_cast<int>(std::bit_width(slots_.b.size() - 1));
    for (int pattern = -1; pattern < bits; ++pattern) {
      fill_b(pattern);
      for (std::size_t first = 0; first < slots_.a.size(); first += chunk_ - 1) ones_of_a(first, pattern);
    }
    b_.clear();
    a_.clear();
    for (std::size_t first = 0; first < slots_.d.size(); first += chunk_) ones_of_c(first);
    return found_;
  }

 private:
  static std::size_t chunk_of(const Instruction& inst) {
    const std::size_t m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n),
                      k = static_cast<std::size_t>(inst.k);
    const std::size_t tile = m * k * spec_of(inst.a).storage_bytes() +
                             k * n * spec_of(inst.b).storage_bytes() +
                             m * n * (spec_of(inst.c).storage_bytes() + spec_of(inst.d).storage_bytes());
    return std::clamp<std::size_t>(kChunkBytes / tile, 2, m * k + 1);
  }

  [[nodiscard]] bool exclusive_or() const { return is_.multiply == Multiply::xor_popc; }

  /// Pattern -1: the value of B for which every A slot shows; else one bit of each slot's number.
  void fill_b(int pattern) {
    b_.clear();
    if (pattern < 0 && exclusive_or()) return;
    for (std::size_t tile = 0; tile < chunk_; ++tile)
      for (std::size_t slot = 0; slot < slots_.b.size(); ++slot)
        if (slots_.b_holder[slots_.b[slot]] == static_cast<std::int32_t>(slot) &&
            (pattern < 0 || ((slot >> pattern) & 1) != 0))
          b_.set_one(tile, slots_.b[slot]);
  }

  void run(std::size_t tiles, bool with_c) {
    TileView batch{.tiles = tiles, .a = a_.data(), .b = b_.data(), .d = d_.data()};
    if (with_c) batch.c = c_.data();
    batch.modifiers = modifiers_.data();
    if (!metadata_.empty()) batch.metadata = metadata_.data();
    run_(batch);
  }

  /// Tile 0 has an A of zeros: what the others differ from.
  void ones_of_a(std::size_t first, int pattern) {
    const std::size_t count = std::min(chunk_ - 1, slots_.a.size() - first);
    a_.clear();
    for (std::size_t i = 0; i < count; ++i) a_.set_one(i + 1, slots_.a[first + i]);
    run(count + 1, false);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t d = 0; d < slots_.d.size(); ++d) {
        const std::uint64_t base = d_.bits(0, slots_.d[d]), now = d_.bits(i + 1, slots_.d[d]);
        std::int32_t& partner = found_.partner[(first + i) * slots_.d.size() + d];
        // Of single bits under xor, a one in A adds to D where B has a zero and takes away where it has a
        // one.
        const bool one = exclusive_or() ? static_cast<std::int32_t>(now - base) < 0 : now != base;
        if (pattern < 0)
          partner = now != base ? 0 : Incidence::kNever;
        else if (partner != Incidence::kNever && one)
          partner |= 1 << pattern;
      }
  }

  void ones_of_c(std::size_t first) {
    const std::size_t count = std::min(chunk_, slots_.d.size() - first);
    c_.clear();
    for (std::size_t i = 0; i < count; ++i) c_.set_one(i, slots_.d[first + i]);
    run(count, true);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t d = 0; d < slots_.d.size(); ++d)
        if (d_.bits(i, slots_.d[d]) != 0) found_.passed[first + i] = static_cast<std::int32_t>(d);
  }

  Instruction is_;
  const RunTiles& run_;
  Slots slots_;
  Incidence found_;
  std::size_t chunk_;
  std::vector<std::uint8_t> modifiers_, metadata_;
  Tiles a_, b_, c_, d_;
};

}  // namespace

Incidence declared_incidence(const Instruction& instruction) {
  const Slots slots(instruction);
  Incidence declared = slots.empty();
  const auto n = static_cast<std::size_t>(instruction.n),
             k = static_cast<std::size_t>(instruction.stored_k());
  const std::vector<std::uint8_t> metadata = metadata_of(instruction);
  for (std::size_t a = 0; a < slots.a.size(); ++a)
    for (std::size_t d = 0; d < slots.d.size(); ++d) {
      const std::size_t row = slots.a[a] / k, stored = slots.a[a] % k;
      if (row != slots.d[d] / n) continue;
      const std::size_t met =
          metadata.empty()
              ? stored
              : static_cast<std::size_t>(selected_k(sparsity_of(instruction), MetadataRule::selected,
                                                    metadata.data() + row * k, static_cast<int>(stored)));
      declared.partner[a * slots.d.size() + d] = slots.b_holder[met * n + slots.d[d] % n];
    }
  for (std::size_t d = 0; d < slots.d.size(); ++d) declared.passed[d] = slots.d_holder[slots.d[d]];
  return declared;
}

Incidence discovered_incidence(const Instruction& instruction, std::uint8_t modifiers, const RunTiles& run) {
  return Discovery(instruction, modifiers, run).discover();
}

}  // namespace mmaudit::device
