#include "mmaudit/device/fragment_probe.hpp"

#include <algorithm>
#include <bit>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::device {
namespace {

constexpr std::int64_t kMostPairs = std::int64_t{1} << 26;
constexpr std::size_t kBatchBytes = std::size_t{32} << 20;

void set_one(std::vector<std::byte>& elements, Format format, std::size_t index) {
  const FormatSpec spec = spec_of(format);
  store_bits(elements, spec.storage_bytes(), index, spec.integer() ? 1 : encode_value(1.0, spec));
}

void clear(std::vector<std::byte>& elements) { std::fill(elements.begin(), elements.end(), std::byte{0}); }

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

/// Of one tile: neighbouring groups and rows have different patterns. Empty for dense instructions.
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
  std::vector<std::int32_t> b_holder, d_holder;  ///< the slot that counts where several hold an element

  explicit Slots(const Instruction& instruction) {
    if (!has_fragment_maps(instruction))
      throw InputError("--inst: " + name_of(instruction) + " has no fragment maps");
    a = elements_of(fragment_a(instruction));
    b = elements_of(fragment_b(instruction));
    d = elements_of(fragment_d(instruction));
    b_holder = holders_of(b);
    d_holder = holders_of(d);
    if (static_cast<std::int64_t>(a.size()) * static_cast<std::int64_t>(d.size()) > kMostPairs)
      refuse("--inst: found {}, allowed: at most 2^26 pairs of slots", name_of(instruction));
  }
  [[nodiscard]] FragmentMeetings empty() const {
    FragmentMeetings none{
        static_cast<int>(a.size()), static_cast<int>(b.size()), static_cast<int>(d.size()), {}, {}};
    none.partner.assign(a.size() * d.size(), FragmentMeetings::kNever);
    none.passed.assign(d.size(), FragmentMeetings::kNever);
    return none;
  }
};

class Probe {
 public:
  Probe(const Instruction& instruction, std::uint8_t modifiers, const Backend& backend)
      : is_(instruction),
        backend_(backend),
        slots_(instruction),
        found_(slots_.empty()),
        most_(most_tiles(instruction)),
        batch_(instruction, most_, modifiers),
        each_a_(static_cast<std::size_t>(is_.m * is_.stored_k())),
        each_b_(static_cast<std::size_t>(is_.k * is_.n)),
        each_d_(static_cast<std::size_t>(is_.m * is_.n)) {
    const std::vector<std::uint8_t> one = metadata_of(is_);
    for (std::size_t tile = 0; tile < most_; ++tile)
      std::copy(one.begin(), one.end(),
                batch_.metadata.begin() + static_cast<std::ptrdiff_t>(tile * one.size()));
  }

  FragmentMeetings probe() {
    const int bits = static_cast<int>(std::bit_width(slots_.b.size() - 1));
    for (int pattern = -1; pattern < bits; ++pattern) {
      fill_b(pattern);
      for (std::size_t first = 0; first < slots_.a.size(); first += most_ - 1) ones_of_a(first, pattern);
    }
    clear(batch_.b);
    clear(batch_.a);
    for (std::size_t first = 0; first < slots_.d.size(); first += most_) ones_of_c(first);
    return found_;
  }

 private:
  static std::size_t most_tiles(const Instruction& inst) {
    const TileBatch one(inst, 1);
    const auto elements_of_d = static_cast<std::size_t>(inst.m * inst.n);
    const std::size_t bytes =
        one.a.size() + one.b.size() + one.c.size() + elements_of_d * spec_of(inst.d).storage_bytes();
    return std::clamp<std::size_t>(kBatchBytes / bytes, 2, static_cast<std::size_t>(inst.m * inst.k) + 1);
  }

  [[nodiscard]] bool exclusive_or() const { return is_.multiply == Multiply::xor_popc; }

  /// Pattern -1: the value of B for which every A slot shows; else one bit of each slot's number.
  void fill_b(int pattern) {
    clear(batch_.b);
    if (pattern < 0 && exclusive_or()) return;
    for (std::size_t tile = 0; tile < most_; ++tile)
      for (std::size_t slot = 0; slot < slots_.b.size(); ++slot)
        if (slots_.b_holder[slots_.b[slot]] == static_cast<std::int32_t>(slot) &&
            (pattern < 0 || ((slot >> pattern) & 1) != 0))
          set_one(batch_.b, is_.b, tile * each_b_ + slots_.b[slot]);
  }

  void run(std::size_t tiles, bool with_c) {
    TileView view = batch_.view();
    view.tiles = tiles;
    if (!with_c) view.c = nullptr;
    backend_.run(is_, view);
  }

  [[nodiscard]] std::uint64_t d_bits(std::size_t tile, std::size_t slot) const {
    return load_bits(batch_.d, spec_of(is_.d).storage_bytes(), tile * each_d_ + slots_.d[slot]);
  }

  /// Tile 0 has an A of zeros: what the others differ from.
  void ones_of_a(std::size_t first, int pattern) {
    const std::size_t count = std::min(most_ - 1, slots_.a.size() - first);
    clear(batch_.a);
    for (std::size_t i = 0; i < count; ++i) set_one(batch_.a, is_.a, (i + 1) * each_a_ + slots_.a[first + i]);
    run(count + 1, false);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t d = 0; d < slots_.d.size(); ++d) {
        const std::uint64_t base = d_bits(0, d), now = d_bits(i + 1, d);
        std::int32_t& partner = found_.partner[(first + i) * slots_.d.size() + d];
        // Single bits under xor: a one in A adds to D where B has a zero, and subtracts where B has a one.
        const bool one = exclusive_or() ? static_cast<std::int32_t>(now - base) < 0 : now != base;
        if (pattern < 0)
          partner = now != base ? 0 : FragmentMeetings::kNever;
        else if (partner != FragmentMeetings::kNever && one)
          partner |= 1 << pattern;
      }
  }

  void ones_of_c(std::size_t first) {
    const std::size_t count = std::min(most_, slots_.d.size() - first);
    clear(batch_.c);
    for (std::size_t i = 0; i < count; ++i) set_one(batch_.c, is_.c, i * each_d_ + slots_.d[first + i]);
    run(count, true);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t d = 0; d < slots_.d.size(); ++d)
        if (d_bits(i, d) != 0) found_.passed[first + i] = static_cast<std::int32_t>(d);
  }

  Instruction is_;
  const Backend& backend_;
  Slots slots_;
  FragmentMeetings found_;
  std::size_t most_;  ///< tiles per run
  TileBatch batch_;
  std::size_t each_a_, each_b_, each_d_;  ///< elements per tile
};

}  // namespace

FragmentMeetings declared_meetings(const Instruction& instruction) {
  const Slots slots(instruction);
  FragmentMeetings declared = slots.empty();
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

FragmentMeetings probe_fragments(const Instruction& instruction, std::uint8_t modifiers,
                                 const Backend& backend) {
  return Probe(instruction, modifiers, backend).probe();
}

}  // namespace mmaudit::device
