// A tile of a product of binary64, by vector code.
#include "vector_sums.hpp"

namespace mmaudit::fast {
namespace {

constexpr std::uint64_t kAtOnce = 64;  // k, about: a panel of B of that depth stays in the first cache

class Binary64Tile final : public TileSums {
 public:
  Binary64Tile(const DotSpec& spec, const Matmul& problem, SimdLevel level)
      : spec_(spec),
        problem_(problem),
        level_(table_of(level)),
        rows_(tile_rows(problem)),
        columns_(tile_columns(problem)),
        depth_(detail::quotient_up(kAtOnce, static_cast<std::uint64_t>(spec.k)) *
               static_cast<std::uint64_t>(spec.k)) {
    a_.resize(rows_ * depth_);
    b_.resize(columns_ * depth_);
    sums_.resize(rows_ * columns_);
    for (std::uint64_t p = 0; p < depth_; ++p) {
      const int within = static_cast<int>(p) % spec.k;
      order_.push_back(p - static_cast<std::uint64_t>(within) +
                       static_cast<std::uint64_t>(evaluation_k(spec.datapath.order, spec.k, within)));
    }
  }

  void start(const TilePlace& tile) override {
    tile_ = tile;
    std::fill(sums_.begin(), sums_.end(), 0.0);
  }
  void set_row(int, std::uint64_t i, const std::uint64_t* bits) override {
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      sums_[i * columns_ + j] = std::bit_cast<double>(bits[j]);
  }
  void get_row(int, std::uint64_t i, std::uint64_t* bits) const override {
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      bits[j] = std::bit_cast<std::uint64_t>(sums_[i * columns_ + j]);
  }
  /// Totals are binary32's: there are none.
  void fold(int, int) override {}

  void run(std::uint64_t first, std::uint64_t last) override {
    const auto k = static_cast<std::uint64_t>(spec_.k);
    last = first + detail::quotient_up(last - first, k) * k;
    for (std::uint64_t start = first; start < last; start += depth_)
      one_chunk(start, std::min(depth_, last - start));
  }

 private:
  /// Raw bits; +0 beyond K.
  [[nodiscard]] std::uint64_t element_a(std::uint64_t i, std::uint64_t k) const {
    if (i >= tile_.rows || k >= problem_.k) return 0;
    return load_word(problem_.a, 8, (tile_.matrix * problem_.m + tile_.row + i) * problem_.k + k);
  }
  [[nodiscard]] std::uint64_t element_b(std::uint64_t k, std::uint64_t j) const {
    if (j >= tile_.columns || k >= problem_.k) return 0;
    return load_word(problem_.b, 8, (tile_.matrix * problem_.k + k) * problem_.n + tile_.column + j);
  }

  void one_chunk(std::uint64_t start, std::uint64_t depth) {
    start_ = start, of_chunk_ = depth;
    const std::uint64_t rows = detail::quotient_up(tile_.rows, kRowUnit) * kRowUnit;
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t p = 0; p < depth; ++p)
        a_[i * depth_ + p] = std::bit_cast<double>(element_a(i, start + order_[p]));
    Binary64Multiply work;
    work.a = a_.begin();
    work.a_stride = depth_;
    work.depth = static_cast<int>(depth);
    work.rows = static_cast<int>(rows);
    work.sum_stride = columns_;
    work.context = this;
    work.plain = [](const void* context, int row, int column, double sum) {
      return static_cast<const Binary64Tile*>(context)->plain_chunk(static_cast<std::uint64_t>(row),
                                                                    static_cast<std::uint64_t>(column), sum);
    };
    for (std::uint64_t column = 0; column < tile_.columns; column += kPanel) {
      double* panel = &b_[column * depth_];
      for (std::uint64_t p = 0; p < depth; ++p)
        for (std::uint64_t j = 0; j < kPanel; ++j)
          panel[p * kPanel + j] = std::bit_cast<double>(element_b(start + order_[p], column + j));
      work.b = panel;
      work.sum = &sums_[column];
      work.column = static_cast<int>(column);
      level_.multiply_binary64(work);
    }
  }

  [[nodiscard]] double plain_chunk(std::uint64_t i, std::uint64_t j, double sum) const {
    auto bits = std::bit_cast<std::uint64_t>(sum);
    for (std::uint64_t p = 0; p < of_chunk_; ++p) {
      const std::uint64_t k = start_ + order_[p];
      bits = fused_multiply_add(element_a(i, k), element_b(k, j), bits, spec_.datapath);
    }
    return std::bit_cast<double>(bits);
  }

  DotSpec spec_;
  Matmul problem_;
  const Level& level_;
  std::uint64_t rows_, columns_, depth_;  ///< depth: k of a whole chunk
  std::uint64_t start_ = 0, of_chunk_ = 0;
  TilePlace tile_;
  std::vector<std::uint64_t> order_;  ///< position of a chunk -> k
  Aligned<double> a_, b_, sums_;
};

}  // namespace

bool serves_binary64(const DotSpec& spec) {
  return spec.binary64 && spec.datapath.output.rounding == Rounding::nearest_even &&
         spec.step.addend.id == Format::f64 && spec.d.id == Format::f64 && spec.a.id == Format::f64 &&
         spec.b.id == Format::f64 && spec.sparsity == Sparsity{};
}

std::unique_ptr<TileSums> binary64_tile(const DotSpec& spec, const Matmul& problem, SimdLevel level) {
  return std::make_unique<Binary64Tile>(spec, problem, level);
}

}  // namespace mmaudit::fast
