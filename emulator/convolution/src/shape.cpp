#include "mmaudit/convolution/shape.hpp"

#include <numeric>

namespace mmaudit::conv {
namespace {

constexpr std::uint64_t kBeyond = UINT64_MAX;  ///< a product of this or more

std::string refuse(const char* field, std::uint64_t found, std::uint64_t most) {
  return std::string(field) + ": found " + (found == kBeyond ? "2^64 or more" : std::to_string(found)) +
         ", allowed " + std::to_string(most) + " or less";
}

std::uint64_t product(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t all = 1;
  for (const std::uint64_t factor : factors)
    if (__builtin_mul_overflow(all, factor, &all)) return kBeyond;
  return all;
}

std::string why_no_extent(const char* field, int size, int padding, int dilation, int places) {
  const std::int64_t reach = std::int64_t{dilation} * (places - 1) + 1, padded = size + 2 * padding;
  if (reach <= padded) return {};
  return std::string(field) + ": found " + std::to_string(padded) + " with padding, allowed " +
         std::to_string(reach) + " or more, which the filter spans";
}

}  // namespace

std::string why_not(const Shape& shape, int k) {
  struct Field {
    const char* name;
    int value, least;
  };
  for (const Field& field : {Field{"images", shape.images, 1},
                             {"height", shape.height, 1},
                             {"width", shape.width, 1},
                             {"channels", shape.channels, 1},
                             {"filters", shape.filters, 1},
                             {"rows", shape.rows, 1},
                             {"columns", shape.columns, 1},
                             {"stride", shape.stride_y, 1},
                             {"stride", shape.stride_x, 1},
                             {"padding", shape.padding_y, 0},
                             {"padding", shape.padding_x, 0},
                             {"dilation", shape.dilation_y, 1},
                             {"dilation", shape.dilation_x, 1}})
    if (field.value < field.least || field.value > kMostSize)
      return std::string(field.name) + ": found " + std::to_string(field.value) + ", allowed " +
             std::to_string(field.least) + " to " + std::to_string(kMostSize);
  if (std::string why = why_no_extent("height", shape.height, shape.padding_y, shape.dilation_y, shape.rows);
      !why.empty())
    return why;
  if (std::string why = why_no_extent("width", shape.width, shape.padding_x, shape.dilation_x, shape.columns);
      !why.empty())
    return why;
  const auto of = [](int value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t activations =
      product({of(shape.images), of(shape.height), of(shape.width), of(shape.channels)});
  if (activations > kMostElements) return refuse("activations", activations, kMostElements);
  const std::uint64_t depth = of(blocks_of(shape, k)) * of(k);
  const std::uint64_t weights = product({of(shape.filters), of(shape.rows), of(shape.columns), depth});
  if (weights > kMostElements) return refuse("weights", weights, kMostElements);
  const std::uint64_t outputs =
      product({of(shape.images), of(shape.out_height()), of(shape.out_width()), of(shape.filters)});
  if (outputs > kMostElements) return refuse("outputs", outputs, kMostElements);
  const std::uint64_t products = product({outputs, of(shape.rows), of(shape.columns), depth});
  return products <= kMostProducts ? "" : refuse("multiply-adds", products, kMostProducts);
}

Pixel pixel_at(const Shape& shape, int position, int r, int s) {
  const int q = position % shape.out_width(), p = position / shape.out_width() % shape.out_height();
  const Pixel pixel{position / shape.out_width() / shape.out_height(),
                    p * shape.stride_y + r * shape.dilation_y - shape.padding_y,
                    q * shape.stride_x + s * shape.dilation_x - shape.padding_x};
  const bool inside = pixel.y >= 0 && pixel.y < shape.height && pixel.x >= 0 && pixel.x < shape.width;
  return inside ? pixel : Pixel{};
}

std::vector<Run> runs_of(const Shape& shape) {
  // Lane i + u reads at s what lane i reads at s + t: u strides are as far as t dilations.
  const int common = std::gcd(shape.stride_x, shape.dilation_x);
  const int places = shape.stride_x / common, lanes = shape.dilation_x / common;
  std::vector<Run> runs;
  for (int r = 0; r < shape.rows; ++r) {
    for (int first = 0; first < places && first < shape.columns; ++first) {
      Run run{r, lanes, {}};
      for (int s = first; s < shape.columns; s += places) run.s.push_back(s);
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace mmaudit::conv
