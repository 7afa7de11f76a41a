#include "mmaudit/convolution/convolve.hpp"

#include "mmaudit/matmul.hpp"
#include "walk.hpp"

namespace mmaudit::conv {
namespace {

/// Lanes that hold pixels; their channels are read when an instruction needs them.
class PixelLanes {
 public:
  static constexpr int kTiles = 1;

  PixelLanes(const Problem& problem, int lanes, int with_halo)
      : problem_(problem),
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
    matmul(inst, problem_.datapath, product);
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
  std::vector<Pixel> lanes_;
  std::vector<std::byte> a_, b_, d_, next_;
  std::vector<std::byte> weights_;  ///< one B per place and block
};

}  // namespace

Result convolve(const Problem& problem, const Algorithm& algorithm, int lanes) {
  // A tile larger than the output would only take memory.
  const int used = std::min(lanes, problem.shape.positions());
  PixelLanes memory(problem, used, lanes_with_halo(runs_of(problem.shape), algorithm, used));
  return walk(problem, algorithm, used, false, memory);
}

}  // namespace mmaudit::conv
