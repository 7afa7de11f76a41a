// A tile of a matrix product by the plain core, one instruction after another.
#include <algorithm>
#include <vector>

#include "mmaudit/raw_words.hpp"
#include "tile_sums.hpp"

namespace mmaudit {
namespace {

class PlainTile final : public TileSums {
 public:
  PlainTile(const Instruction& instruction, const Datapath& datapath, const Matmul& problem)
      : plan_(make_plan(instruction, datapath)),
        problem_(problem),
        rows_(tile_rows(problem)),
        columns_(tile_columns(problem)) {
    for (auto& sum : sums_) sum.resize(rows_ * columns_);
    const auto k = static_cast<std::size_t>(plan_.k);
    if (plan_.unpacks()) {
      a_.resize(rows_ * k);
      b_.resize(columns_ * k);
    } else {
      raw_a_.resize(rows_ * k);
      raw_b_.resize(columns_ * k);
    }
  }

  void start(const Tile& tile) override {
    tile_ = tile;
    for (auto& sum : sums_) std::fill(sum.begin(), sum.end(), 0);
  }

  void set_row(int sum, std::uint64_t i, const std::uint64_t* bits) override {
    std::copy_n(bits, tile_.columns, &sums_[sum][i * columns_]);
  }

  void get_row(int sum, std::uint64_t i, std::uint64_t* bits) const override {
    std::copy_n(&sums_[sum][i * columns_], tile_.columns, bits);
  }

  void run(std::uint64_t first, std::uint64_t last) override {
    const auto depth = static_cast<std::uint64_t>(plan_.k);
    for (std::uint64_t k = first; k < last; k += depth) one_instruction(k);
  }

  void fold(int from, int into) override {
    for (std::size_t e = 0; e < sums_[into].size(); ++e) {
      sums_[into][e] = add_rounded(sums_[into][e], sums_[from][e], plan_.step.output, Rounding::nearest_even,
                                   plan_.datapath.output);
      sums_[from][e] = 0;
    }
  }

 private:
  [[nodiscard]] std::uint64_t element_a(std::uint64_t i, std::uint64_t k) const {
    if (k >= problem_.k) return 0;
    return load_word(problem_.a, plan_.a.storage_bytes(),
                     (tile_.matrix * problem_.m + tile_.row + i) * problem_.k + k);
  }
  [[nodiscard]] std::uint64_t element_b(std::uint64_t k, std::uint64_t j) const {
    if (k >= problem_.k) return 0;
    return load_word(problem_.b, plan_.b.storage_bytes(),
                     (tile_.matrix * problem_.k + k) * problem_.n + tile_.column + j);
  }

  void one_instruction(std::uint64_t first) {
    const auto depth = static_cast<std::size_t>(plan_.k);
    for (std::size_t p = 0; p < depth; ++p) {
      // Operands stand in evaluation order; the other datapaths find their own.
      const std::uint64_t k =
          first + (plan_.unpacks() ? static_cast<std::uint64_t>(evaluation_k(
                                         plan_.datapath.order, static_cast<int>(depth), static_cast<int>(p)))
                                   : p);
      const auto place = [&](std::size_t at, const FormatSpec& format, std::uint64_t bits,
                             std::vector<Operand>& operands, std::vector<std::uint64_t>& raw) {
        if (plan_.unpacks())
          operands[at] = unpack_factor(format, plan_, bits, false);
        else
          raw[at] = bits;
      };
      for (std::uint64_t i = 0; i < tile_.rows; ++i)
        place(i * depth + p, plan_.a, element_a(i, k), a_, raw_a_);
      for (std::uint64_t j = 0; j < tile_.columns; ++j)
        place(j * depth + p, plan_.b, element_b(k, j), b_, raw_b_);
    }
    for (std::uint64_t i = 0; i < tile_.rows; ++i) {
      for (std::uint64_t j = 0; j < tile_.columns; ++j) {
        std::uint64_t& sum = sums_[0][i * columns_ + j];
        sum = plan_.unpacks() ? chain(plan_, &a_[i * depth], &b_[j * depth], sum)
                              : dot(plan_, Strided<std::uint64_t>{&raw_a_[i * depth]},
                                    Strided<std::uint64_t>{&raw_b_[j * depth]}, sum, 0);
      }
    }
  }

  DotPlan plan_;
  Matmul problem_;
  std::uint64_t rows_, columns_;
  Tile tile_;
  std::vector<std::uint64_t> sums_[kSums];
  std::vector<Operand> a_, b_;
  std::vector<std::uint64_t> raw_a_, raw_b_;
};

}  // namespace

std::unique_ptr<TileSums> plain_tile(const Instruction& instruction, const Datapath& datapath,
                                     const Matmul& problem) {
  return std::make_unique<PlainTile>(instruction, datapath, problem);
}

}  // namespace mmaudit
