#include "attention/fma_tile.hpp"

#include <vector>

#include "mmaudit/detail/clones.hpp"
#include "mmaudit/functions.hpp"

namespace mmaudit::attention_rows {
namespace {

MMAUDIT_CLONES void add_row(float* sums, float x, const float* row, std::uint64_t count) {
  for (std::uint64_t j = 0; j < count; ++j) sums[j] = __builtin_fmaf(x, row[j], sums[j]);
}

class FmaTile final : public TileSums {
 public:
  explicit FmaTile(const Matmul& product) : product_(product) {}
  void start(const TilePlace& tile) override {
    tile_ = tile;
    sums_.assign(tile.rows * tile.columns, 0.0F);
  }
  void set_row(int, std::uint64_t i, const std::uint64_t* bits) override {
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      sums_[i * tile_.columns + j] = functions::as_float(static_cast<std::uint32_t>(bits[j]));
  }
  void get_row(int, std::uint64_t i, std::uint64_t* bits) const override {
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      bits[j] = functions::bits_of(sums_[i * tile_.columns + j]);
  }
  void run(std::uint64_t first, std::uint64_t last) override {
    const auto* const a = static_cast<const float*>(product_.a);
    const auto* const b = static_cast<const float*>(product_.b);
    for (std::uint64_t i = 0; i < tile_.rows; ++i)
      for (std::uint64_t k = first; k < last; ++k)
        add_row(&sums_[i * tile_.columns], a[(tile_.row + i) * product_.k + k],
                b + k * product_.n + tile_.column, tile_.columns);
  }
  void fold(int, int) override {}  // one sum is all that attention has

 private:
  Matmul product_;
  TilePlace tile_;
  std::vector<float> sums_;
};

}  // namespace

std::unique_ptr<TileSums> fma_tile(const Matmul& product) { return std::make_unique<FmaTile>(product); }

void fma_product(const Matmul& product) {
  const auto* const a = static_cast<const float*>(product.a);
  auto* const d = static_cast<float*>(product.d);
  for (std::uint64_t i = 0; i < product.m; ++i) {
    std::fill_n(d + i * product.n, product.n, 0.0F);
    for (std::uint64_t k = 0; k < product.k; ++k)
      add_row(d + i * product.n, a[i * product.k + k], static_cast<const float*>(product.b) + k * product.n,
              product.n);
  }
}

}  // namespace mmaudit::attention_rows
