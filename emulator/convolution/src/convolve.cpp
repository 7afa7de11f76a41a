#include "mmaudit/convolution/convolve.hpp"

#include <algorithm>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/tile_batch.hpp"
#include "walk.hpp"

namespace mmaudit::conv {
namespace {

/// One instruction on a product of its k: tiles cover D, and what lies outside of it is zeros.
void run_tiles(const Instruction& inst, const Matmul& product, const Backend& runner) {
  const auto m = static_cast<std::uint64_t>(inst.m), n = static_cast<std::uint64_t>(inst.n), k = product.k;
  const std::uint64_t down = detail::quotient_up(product.m, m), across = detail::quotient_up(product.n, n);
  TileBatch tiles(inst, down * across);
  /// Calls copy(element of the tiles, element of a matrix) for the rows and columns of one that exist.
  const auto for_each = [&](std::uint64_t rows, std::uint64_t columns, std::uint64_t tile_rows,
                            std::uint64_t tile_columns, bool per_row, bool per_column, const auto& copy) {
    for (std::uint64_t tile = 0; tile < down * across; ++tile) {
      const std::uint64_t row = per_row ? tile / across * tile_rows : 0,
                          column = per_column ? tile % across * tile_columns : 0;
      for (std::uint64_t i = 0; i < tile_rows && row + i < rows; ++i)
        for (std::uint64_t j = 0; j < tile_columns && column + j < columns; ++j)
          copy((tile * tile_rows + i) * tile_columns + j, (row + i) * columns + column + j);
    }
  };
  const auto put = [](std::vector<std::byte>& to, const void* from, Format format) {
    return [&to, from = static_cast<const std::byte*>(from), bytes = spec_of(format).storage_bytes()](
               std::uint64_t tile, std::uint64_t element) {
      std::copy_n(from + element * bytes, bytes, to.begin() + static_cast<std::ptrdiff_t>(tile * bytes));
    };
  };
  for_each(product.m, k, m, k, true, false, put(tiles.a, product.a, inst.a));
  for_each(k, product.n, k, n, false, true, put(tiles.b, product.b, inst.b));
  for_each(product.m, product.n, m, n, true, true, put(tiles.c, product.c, inst.c));
  runner.run(inst, tiles.view());
  const std::size_t bytes = spec_of(inst.d).storage_bytes();
  for_each(product.m, product.n, m, n, true, true, [&](std::uint64_t tile, std::uint64_t element) {
    std::copy_n(tiles.d.begin() + static_cast<std::ptrdiff_t>(tile * bytes), bytes,
                static_cast<std::byte*>(product.d) + element * bytes);
  });
}

/// Lanes that hold pixels; their channels are read when an instruction needs them.
class PixelLanes {
 public:
  static constexpr int kTiles = 1;

  PixelLanes(const Problem& problem, int lanes, int with_halo, const Backend* runner)
      : problem_(problem),
        runner_(runner),
        lanes_(static_cast<std::size_t>(with_halo)),
        a_(static_cast<std::size_t>(lanes) * depth() * bytes(problem.instruction.a)),
        b_(depth() * filters() * bytes(problem.instruction.b)),
        d_(static_cast<std::size_t>(lanes) * filters() * bytes(problem.instruction.d)),
        next_(d_.size()) {
    const std::size_t size = b_.size();
    for (int r = 0; r < problem.shape.rows; ++r) {
      for (int s = 0; s < problem.shape.columns; ++s) {
        for (int block = 0; block < blocks_of(problem.shape, problem.instruction.k); ++block) {
          fill_b({r, s, block * problem.instruction.k});
          weights_.insert(weights_.end(), b_.begin(), b_.begin() + static_cast<std::ptrdiff_t>(size));
        }
      }
    }
  }

  void start() { std::fill(d_.begin(), d_.end(), std::byte{0}); }
  void load(int /*tile*/, int lane, const Pixel& pixel, int /*channel*/) {
    lanes_[static_cast<std::size_t>(lane)] = pixel;
  }
  void shift(bool down) { shift_lanes(lanes_, down); }

  void multiply(const Step& step, const std::vector<std::vector<bool>>& masked, bool /*ashift*/) {
    const Instruction& inst = problem_.instruction;
    const std::vector<bool>& out = masked.front();
    const int k = inst.k, blocks = blocks_of(problem_.shape, k);
    for (std::size_t lane = 0; lane < out.size(); ++lane)
      for (int i = 0; i < k; ++i)
        store_bits(a_, bytes(inst.a), lane * depth() + static_cast<std::size_t>(i),
                   activation(problem_, lanes_[lane], step.channel + i));
    const std::size_t place = index_at(step.r * problem_.shape.columns + step.s, blocks, step.channel / k);
    Matmul product;
    product.m = out.size();
    product.n = filters();
    product.k = depth();
    product.a = a_.data();
    product.b = weights_.data() + place * b_.size();
    product.c = d_.data();
    product.d = next_.data();
    if (runner_ == nullptr)
      matmul(inst, problem_.datapath, product);
    else
      run_tiles(inst, product, *runner_);
    const auto row = static_cast<std::ptrdiff_t>(filters() * bytes(inst.d));
    for (std::size_t lane = 0; lane < out.size(); ++lane) {
      const auto first = next_.begin() + static_cast<std::ptrdiff_t>(lane) * row;
      if (!out[lane]) std::copy(first, first + row, d_.begin() + static_cast<std::ptrdiff_t>(lane) * row);
    }
  }

  [[nodiscard]] std::uint64_t d(int /*tile*/, int lane, int filter) const {
    return load_bits(d_, bytes(problem_.instruction.d), index_at(lane, problem_.shape.filters, filter));
  }

 private:
  static std::size_t bytes(Format format) { return spec_of(format).storage_bytes(); }
  [[nodiscard]] std::size_t depth() const { return static_cast<std::size_t>(problem_.instruction.k); }
  [[nodiscard]] std::size_t filters() const { return static_cast<std::size_t>(problem_.shape.filters); }

  void fill_b(const Step& step) {
    for (int i = 0; i < problem_.instruction.k; ++i)
      for (int filter = 0; filter < problem_.shape.filters; ++filter)
        store_bits(b_, bytes(problem_.instruction.b), index_at(i, problem_.shape.filters, filter),
                   weight(problem_, filter, step.r, step.s, step.channel + i));
  }

  const Problem& problem_;
  const Backend* runner_;
  std::vector<Pixel> lanes_;
  std::vector<std::byte> a_, b_, d_, next_;
  std::vector<std::byte> weights_;  ///< one B per place and block
};

}  // namespace

Result convolve(const Problem& problem, const Algorithm& algorithm, int lanes, const Backend* runner) {
  // A tile larger than the output would only take memory.
  const int used = std::min(lanes, problem.shape.positions());
  PixelLanes memory(problem, used, lanes_with_halo(runs_of(problem.shape), algorithm, used), runner);
  return walk(problem, algorithm, used, false, memory);
}

}  // namespace mmaudit::conv
