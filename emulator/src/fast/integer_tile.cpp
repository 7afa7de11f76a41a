// A tile of a product of integers or single bits, by vector code.
#include <array>

#include "vector_sums.hpp"

namespace mmaudit::fast {
namespace {

constexpr std::uint64_t kWordsAtOnce = 128;  // of a panel of B, which stays in the first cache

class IntegerTile final : public TileSums {
 public:
  IntegerTile(const DotSpec& spec, const Matmul& problem, SimdLevel level)
      : spec_(spec),
        problem_(problem),
        level_(table_of(level)),
        stored_k_(problem.metadata != nullptr ? problem.k / 2 : problem.k),
        rows_(tile_rows(problem)),
        columns_(tile_columns(problem)),
        per_word_(spec.integers.exclusive_or ? 1 : 2) {
    const int dense_k = spec.k / spec.sparsity.kept * spec.sparsity.group;
    const auto k = static_cast<std::uint64_t>(dense_k);
    // What clamps does so once per instruction.
    depth_ = clamps() ? k : std::max<std::uint64_t>(1, kWordsAtOnce * per_word_ / k) * k;
    words_ = detail::quotient_up(depth_, per_word_);
    a_.resize(rows_ * words_);
    b_.resize(columns_ * words_);
    sums_.resize(rows_ * columns_);
    for (std::uint64_t bits = 0; bits < value_a_.size(); ++bits) {
      value_a_[bits] = static_cast<std::int16_t>(spec.integers.a.value(bits));
      value_b_[bits] = static_cast<std::int16_t>(spec.integers.b.value(bits));
    }
  }

  void start(const TilePlace& tile) override {
    tile_ = tile;
    std::fill(sums_.begin(), sums_.end(), 0U);
  }
  void set_row(int, std::uint64_t i, const std::uint64_t* bits) override {
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      sums_[i * columns_ + j] = static_cast<std::uint32_t>(bits[j]);
  }
  void get_row(int, std::uint64_t i, std::uint64_t* bits) const override {
    std::copy_n(&sums_[i * columns_], tile_.columns, bits);
  }
  /// Totals are binary32's: there are none.
  void fold(int, int) override {}

  void run(std::uint64_t first, std::uint64_t last) override {
    for (std::uint64_t k = first; k < last; k += depth_) one_chunk(k, std::min(depth_, last - k));
  }

 private:
  [[nodiscard]] bool clamps() const { return spec_.integers.clamp == IntegerClamp::at_end; }

  /// The 16 bits of x for k within a chunk. An exclusive or, whose word is of one k, has both.
  void put(std::int32_t& word, std::uint64_t k, std::int16_t x, bool of_b) const {
    const auto low = static_cast<std::uint16_t>(x);
    if (per_word_ == 1) {
      const auto other = static_cast<std::uint16_t>(1 - x);
      const std::uint32_t both = of_b ? other | std::uint32_t{low} << 16 : low | std::uint32_t{other} << 16;
      word = static_cast<std::int32_t>(both);
    } else {
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | std::uint32_t{low} << 16 * (k % 2));
    }
  }

  void one_chunk(std::uint64_t start, std::uint64_t depth) {
    depth = std::min(depth, problem_.k - start);  // zeros beyond K add nothing
    std::fill(a_.begin(), a_.end(), 0);
    std::fill(b_.begin(), b_.end(), 0);
    for (std::uint64_t i = 0; i < tile_.rows; ++i) pack_row(start, depth, i);
    const auto* elements = static_cast<const std::uint8_t*>(problem_.b);
    for (std::uint64_t k = 0; k < depth; ++k) {
      const std::uint8_t* from =
          elements + (tile_.matrix * problem_.k + start + k) * problem_.n + tile_.column;
      for (std::uint64_t j = 0; j < tile_.columns; ++j)
        put(b_[(j / kPanel * words_ + k / per_word_) * kPanel + j % kPanel], k, value_b_[from[j]], true);
    }
    IntegerMultiply work;
    work.a = a_.begin();
    work.a_stride = words_;
    work.words = static_cast<int>(detail::quotient_up(depth, per_word_));
    work.rows = static_cast<int>(detail::quotient_up(tile_.rows, kRowUnit) * kRowUnit);
    work.sum_stride = columns_;
    work.clamps = clamps();
    for (std::uint64_t panel = 0; panel * kPanel < tile_.columns; ++panel) {
      work.b = &b_[panel * kPanel * words_];
      work.sum = &sums_[panel * kPanel];
      level_.multiply_integers(work);
    }
  }

  /// A sparse row has zeros where it stores nothing.
  void pack_row(std::uint64_t start, std::uint64_t depth, std::uint64_t i) {
    const std::uint64_t row = (tile_.matrix * problem_.m + tile_.row + i) * stored_k_;
    const auto* from = static_cast<const std::uint8_t*>(problem_.a) + row;
    std::int32_t* to = &a_[i * words_];
    const auto kept = static_cast<std::uint64_t>(spec_.sparsity.kept),
               group = static_cast<std::uint64_t>(spec_.sparsity.group);
    for (std::uint64_t s = 0; s < depth / group * kept; ++s) {
      const std::uint64_t stored = start / group * kept + s;
      const std::uint64_t k =
          problem_.metadata == nullptr ? s : s / kept * group + problem_.metadata[row + stored];
      put(to[k / per_word_], k, value_a_[from[stored]], false);
    }
  }

  DotSpec spec_;
  Matmul problem_;
  const Level& level_;
  std::uint64_t stored_k_, rows_, columns_;
  std::uint64_t per_word_;               ///< k of a word
  std::uint64_t depth_ = 0, words_ = 0;  ///< k of a chunk, and its words
  TilePlace tile_;
  std::array<std::int16_t, 256> value_a_, value_b_;
  Aligned<std::int32_t> a_, b_;
  Aligned<std::uint32_t> sums_;
};

}  // namespace

bool serves_integers(const DotSpec& spec) {
  return spec.integer && spec.a.storage_bits == 8 && spec.b.storage_bits == 8 &&
         spec.integers.clamp != IntegerClamp::every_step &&
         spec.datapath.metadata == MetadataRule::selected && spec.step.addend.id == Format::s32 &&
         spec.d.id == Format::s32;
}

std::unique_ptr<TileSums> integer_tile(const DotSpec& spec, const Matmul& problem, SimdLevel level) {
  return std::make_unique<IntegerTile>(spec, problem, level);
}

}  // namespace mmaudit::fast
