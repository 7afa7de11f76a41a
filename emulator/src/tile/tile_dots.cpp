#include "tile/tile_dots.hpp"

#include "mmaudit/backend.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

/// Elements one behind the other, as dot() reads them.
struct InARow {
  const std::uint64_t* base;
  std::uint64_t operator()(int k) const { return base[k]; }
};

}  // namespace

/// As dot() reads them.
struct TileDots::ScalesOf {
  const TileDots& tile;
  std::uint64_t row, column;
  [[nodiscard]] std::uint64_t a(int block) const {
    return tile.reader_.scale_a(tile.row(row), tile.first_block_ + static_cast<std::uint64_t>(block));
  }
  [[nodiscard]] std::uint64_t b(int block) const {
    return tile.reader_.scale_b(tile.tile_.matrix, tile.first_block_ + static_cast<std::uint64_t>(block),
                                tile.tile_.column + column);
  }
};

TileDots::TileDots(const Instruction& instruction, const DotSpec& spec, const Matmul& problem,
                   std::uint64_t rows, std::uint64_t columns, Unpacking unpacking)
    : spec_(spec),
      reader_(spec, problem),
      m_(problem.m),
      depth_(static_cast<std::uint64_t>(instruction.k)),
      stored_(static_cast<std::uint64_t>(spec.k)),
      sparse_(is_sparse(instruction.op)),
      // An index alone has to say which elements of B a row of a sparse A meets.
      raw_(unpacking == Unpacking::never || !spec.unpacks() ||
           (sparse_ && (spec.block_scaled() || spec.datapath.metadata == MetadataRule::whole_group))) {
  if (sparse_) metadata_.resize(rows * stored_);
  if (raw_) {
    raw_a_.resize(rows * stored_);
    raw_b_.resize(columns * depth_);
    return;
  }
  a_.resize(rows * stored_);
  b_.resize(columns * depth_);
  if (spec.grouped) {
    scale_a_.resize(a_.size());
    scale_b_.resize(b_.size());
  }
  if (!sparse_) return;
  met_k_.resize(a_.size());
  met_.resize(stored_);
}

void TileDots::load(const TilePlace& tile, std::uint64_t first, unsigned modifiers) {
  tile_ = tile;
  first_ = first;
  first_stored_ = first / depth_ * stored_;
  if (spec_.block_scaled()) first_block_ = first_stored_ / static_cast<std::uint64_t>(spec_.scale_block);
  modifiers_ = modifiers;
  load_elements();
  if (sparse_) load_metadata();
  if (spec_.block_scaled() && !raw_) apply_scales();
}

void TileDots::load_elements() {
  // keep(p of a line, bits) for every element of some lines; read(line, k).
  const auto load = [this](std::uint64_t lines, std::uint64_t length, bool in_order, const auto& read,
                           const auto& keep) {
    for (std::uint64_t p = 0; p < length; ++p) {
      const std::uint64_t k = in_order ? k_of(p) : p;
      for (std::uint64_t line = 0; line < lines; ++line) keep(line * length + p, read(line, k));
    }
  };
  const auto load_side = [&](std::uint64_t lines, std::uint64_t length, bool in_order, const auto& read,
                             const FormatSpec& format, bool negate, std::vector<std::uint64_t>& raw,
                             std::vector<Operand>& unpacked) {
    if (raw_)
      return load(lines, length, false, read, [&](std::uint64_t at, std::uint64_t bits) { raw[at] = bits; });
    load(lines, length, in_order, read, [&](std::uint64_t at, std::uint64_t bits) {
      unpacked[at] = unpack_factor(format, spec_, bits, negate);
    });
  };
  reader_.with_a([&](const auto& element) {
    const auto read = [&](std::uint64_t i, std::uint64_t k) { return element(row(i), first_stored_ + k); };
    load_side(tile_.rows, stored_, true, read, spec_.a, (modifiers_ & kNegateA) != 0, raw_a_, a_);
  });
  reader_.with_b([&](const auto& element) {
    const auto read = [&](std::uint64_t j, std::uint64_t k) {
      return element(tile_.matrix, first_ + k, tile_.column + j);
    };
    load_side(tile_.columns, depth_, !sparse_, read, spec_.b, (modifiers_ & kNegateB) != 0, raw_b_, b_);
  });
}

void TileDots::load_metadata() {
  for (std::uint64_t i = 0; i < tile_.rows; ++i) {
    std::uint8_t* own = &metadata_[i * stored_];
    for (std::uint64_t p = 0; p < stored_; ++p) own[p] = reader_.position(row(i), first_stored_ + p);
    for (std::uint64_t p = 0; !raw_ && p < stored_; ++p)
      met_k_[i * stored_ + p] =
          selected_k(spec_.sparsity, spec_.datapath.metadata, own, static_cast<int>(k_of(p)));
  }
}

/// Multiplies the scales into their elements, or keeps them apart where they belong to groups.
void TileDots::apply_scales() {
  const auto apply = [&](const auto& load, std::uint64_t first, std::vector<Operand>& elements,
                         std::vector<Operand>& kept) {
    for (std::uint64_t p = 0; p < stored_; ++p) {
      const Operand scale = scale_at(spec_, load, static_cast<int>(k_of(p)));
      if (spec_.grouped)
        kept[first + p] = scale;
      else
        elements[first + p] = scaled(elements[first + p], scale, spec_.datapath);
    }
  };
  for (std::uint64_t i = 0; i < tile_.rows; ++i)
    apply([scales = ScalesOf{*this, i, 0}](int block) { return scales.a(block); }, i * stored_, a_, scale_a_);
  for (std::uint64_t j = 0; j < tile_.columns; ++j)
    apply([scales = ScalesOf{*this, 0, j}](int block) { return scales.b(block); }, j * depth_, b_, scale_b_);
}

std::uint64_t TileDots::operator()(std::uint64_t i, std::uint64_t j, std::uint64_t c) {
  return raw_ ? raw_dot(i, j, c) : unpacked_dot(i, j, c);
}

// Flattened: the sums of chain() stay in registers, which is a fifth of the time of grouped scales.
[[gnu::flatten]] std::uint64_t TileDots::unpacked_dot(std::uint64_t i, std::uint64_t j, std::uint64_t c) {
  const Operand* b = &b_[j * depth_];
  if (sparse_) {
    for (std::uint64_t p = 0; p < stored_; ++p) met_[p] = b[met_k_[i * stored_ + p]];
    b = met_.data();
  }
  const Operand* scale_a = spec_.grouped ? &scale_a_[i * stored_] : nullptr;
  const Operand* scale_b = spec_.grouped ? &scale_b_[j * depth_] : nullptr;
  return chain(spec_, &a_[i * stored_], b, c, scale_a, scale_b);
}

std::uint64_t TileDots::raw_dot(std::uint64_t i, std::uint64_t j, std::uint64_t c) const {
  const InARow a{&raw_a_[i * stored_]}, b{&raw_b_[j * depth_]};
  const auto dot_with = [&](const auto& met) {
    if (spec_.integer) return integer_dot(spec_, a, met, c);  // without the room that dot() has for operands
    return spec_.block_scaled() ? dot(spec_, a, met, c, modifiers_, ScalesOf{*this, i, j})
                                : dot(spec_, a, met, c, modifiers_);
  };
  if (!sparse_) return dot_with(b);
  return dot_with(
      Gathered<InARow>{spec_.sparsity, spec_.datapath.metadata, spec_.b, &metadata_[i * stored_], b});
}

void emulate_by(Unpacking unpacking, const Instruction& instruction, const Datapath& datapath,
                const TileView& batch) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  const Matmul product = product_of(instruction, batch);
  const std::size_t c_bytes = spec.step.addend.storage_bytes(), d_bytes = spec.d.storage_bytes();
  TileDots dots(instruction, spec, product, product.m, product.n, unpacking);
  for (std::size_t tile = 0; tile < batch.tiles; ++tile) {
    const unsigned modifiers = batch.modifiers != nullptr ? batch.modifiers[tile] : 0U;
    const bool read_c = batch.c != nullptr && (modifiers & kScaleDZero) == 0;
    dots.load({.matrix = tile, .row = 0, .column = 0, .rows = product.m, .columns = product.n}, 0, modifiers);
    for (std::uint64_t i = 0; i < product.m; ++i) {
      for (std::uint64_t j = 0; j < product.n; ++j) {
        const std::uint64_t element = (tile * product.m + i) * product.n + j;
        store_word(batch.d, d_bytes, element, dots(i, j, read_c ? load_word(batch.c, c_bytes, element) : 0));
      }
    }
  }
}

void emulate(const Instruction& instruction, const Datapath& datapath, const TileView& batch) {
  emulate_by(Unpacking::ahead, instruction, datapath, batch);
}

}  // namespace mmaudit
