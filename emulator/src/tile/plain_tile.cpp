// A tile of a matrix product by the plain core, one instruction after another: what any other way to compute
// it is compared with.
#include <algorithm>
#include <vector>

#include "tile/tile_dots.hpp"

namespace mmaudit {
namespace {

class PlainTile final : public TileSums {
 public:
  PlainTile(const Instruction& instruction, const Datapath& datapath, const Matmul& problem)
      : spec_(make_dot_spec(instruction, datapath)),
        problem_(problem),
        depth_(static_cast<std::uint64_t>(instruction.k)),
        columns_(tile_columns(problem)),
        dots_(instruction, spec_, problem_, tile_rows(problem), columns_, Unpacking::ahead) {
    for (auto& sum : sums_) sum.resize(tile_rows(problem) * columns_);
  }

  void start(const TilePlace& tile) override {
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
    for (std::uint64_t k = first; k < last; k += depth_) {
      dots_.load(tile_, k, 0);
      for (std::uint64_t i = 0; i < tile_.rows; ++i) {
        for (std::uint64_t j = 0; j < tile_.columns; ++j) {
          std::uint64_t& sum = sums_[0][i * columns_ + j];
          sum = dots_(i, j, sum);
        }
      }
    }
  }

  void fold(int from, int into) override {
    for (std::size_t e = 0; e < sums_[into].size(); ++e) {
      sums_[into][e] = add_rounded(sums_[into][e], sums_[from][e], spec_.step.output, Rounding::nearest_even,
                                   rule_of_totals(spec_.datapath.output));
      sums_[from][e] = 0;
    }
  }

 private:
  DotSpec spec_;
  Matmul problem_;
  std::uint64_t depth_, columns_;
  TilePlace tile_;
  TileDots dots_;
  std::vector<std::uint64_t> sums_[kSums];
};

}  // namespace

std::unique_ptr<TileSums> plain_tile(const Instruction& instruction, const Datapath& datapath,
                                     const Matmul& problem) {
  return std::make_unique<PlainTile>(instruction, datapath, problem);
}

}  // namespace mmaudit
