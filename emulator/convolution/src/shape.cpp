#include "mmaudit/convolution/shape.hpp"

#include <numeric>

#include "mmaudit/refusal.hpp"

namespace mmaudit::conv {
namespace {

constexpr std::uint64_t kBeyond = UINT64_MAX;  ///< a product of this or more

std::uint64_t product(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t all = 1;
  for (const std::uint64_t factor : factors)
    if (__builtin_mul_overflow(all, factor, &all)) return kBeyond;
  return all;
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
      return refusal("{}: found {}, allowed: {} to {}", field.name, field.value, field.least, kMostSize);
  struct Axis {
    const char* name;
    int size, padding, dilation, places;
  };
  for (const Axis& axis : {Axis{"height", shape.height, shape.padding_y, shape.dilation_y, shape.rows},
                           {"width", shape.width, shape.padding_x, shape.dilation_x, shape.columns}}) {
    const std::int64_t reach = std::int64_t{axis.dilation} * (axis.places - 1) + 1;
    if (const std::int64_t padded = axis.size + 2 * axis.padding; reach > padded)
      return refusal("{}: found {} with padding, allowed: {} or more, which the filter spans", axis.name,
                     padded, reach);
  }
  const auto of = [](int value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t depth = of(blocks_of(shape, k)) * of(k);
  const std::uint64_t outputs =
      product({of(shape.images), of(shape.out_height()), of(shape.out_width()), of(shape.filters)});
  struct Size {
    const char* name;
    std::uint64_t found, most;
  };
  for (const Size& size :
       {Size{"activations",
             product({of(shape.images), of(shape.height), of(shape.width), of(shape.channels)}),
             kMostElements},
        {"weights", product({of(shape.filters), of(shape.rows), of(shape.columns), depth}), kMostElements},
        {"outputs", outputs, kMostElements},
        {"multiply-adds", product({outputs, of(shape.rows), of(shape.columns), depth}), kMostProducts}})
    if (size.found > size.most)
      return refusal("{}: found {}, allowed: {} or less", size.name,
                     size.found == kBeyond ? "2^64 or more" : std::to_string(size.found), size.most);
  return {};
}

Pixel output_at(const Shape& shape, int position) {
  const int line = position / shape.out_width(), x = position % shape.out_width();
  if (shape.rows_first) return {line % shape.images, line / shape.images, x};
  return {line / shape.out_height(), line % shape.out_height(), x};
}

std::size_t place_of(const Shape& shape, int position) {
  const Pixel output = output_at(shape, position);
  const int row = output.image * shape.out_height() + output.y;
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(shape.out_width()) +
         static_cast<std::size_t>(output.x);
}

Pixel pixel_at(const Shape& shape, int position, int r, int s) {
  const Pixel output = output_at(shape, position);
  const Pixel pixel{output.image, output.y * shape.stride_y + r * shape.dilation_y - shape.padding_y,
                    output.x * shape.stride_x + s * shape.dilation_x - shape.padding_x};
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
