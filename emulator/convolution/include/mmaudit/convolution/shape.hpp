#pragma once
// A convolution as a matrix product with an index map: row i of A is output position i, a step of k is one
// place of the filter and one block of channels, and the map says which pixel, or padding, that row reads.
// Every way of computing it is a schedule of loads over this one map (schedule.hpp).
#include <cstdint>
#include <string>
#include <vector>

namespace mmaudit::conv {

/// Sizes of a convolution. Activations are (images, height, width, channels), weights (filters, rows,
/// columns, channels), the output is (images, out_height, out_width, filters). The default is the worked
/// example of P. Luo's note on Blackwell, 1.2.1, whose output is 7 x 9; images, filters and channels are not
/// in the note.
struct Shape {
  int images = 2, height = 9, width = 9, channels = 16;
  int filters = 3, rows = 3, columns = 3;
  int stride_y = 1, stride_x = 1, padding_y = 0, padding_x = 1, dilation_y = 1, dilation_x = 1;
  /// Positions go by y, image, x, as the note's prose has them; else by image, y, x.
  bool rows_first = false;

  [[nodiscard]] constexpr int out_height() const {
    return (height + 2 * padding_y - dilation_y * (rows - 1) - 1) / stride_y + 1;
  }
  [[nodiscard]] constexpr int out_width() const {
    return (width + 2 * padding_x - dilation_x * (columns - 1) - 1) / stride_x + 1;
  }
  /// Output positions of all images: rows of the product.
  [[nodiscard]] constexpr int positions() const { return images * out_height() * out_width(); }
  /// Elements of the output.
  [[nodiscard]] constexpr std::uint64_t outputs() const {
    return static_cast<std::uint64_t>(positions()) * static_cast<std::uint64_t>(filters);
  }
};

inline constexpr int kMostSize = 65536;                                 ///< of each number of a Shape
inline constexpr std::uint64_t kMostElements = std::uint64_t{1} << 26;  ///< of each tensor
inline constexpr std::uint64_t kMostProducts = std::uint64_t{1} << 28;  ///< multiply-adds of one convolution

/// What: why these sizes can't be computed, with `k` channels per step. Errors: "field: found X, allowed: Y";
/// empty when they can. Every other function here asks for a shape without a reason.
std::string why_not(const Shape& shape, int k);

/// Where a row of A reads: a pixel, or padding, which is zero.
struct Pixel {
  int image = -1, y = 0, x = 0;  ///< image -1: padding

  [[nodiscard]] constexpr bool padding() const { return image < 0; }
  friend constexpr bool operator==(const Pixel&, const Pixel&) = default;
};

/// Where output position `position` is.
Pixel output_at(const Shape& shape, int position);

/// Its number among (images, out_height, out_width).
std::size_t place_of(const Shape& shape, int position);

/// The index map: what output position `position` reads at place (r, s) of the filter.
Pixel pixel_at(const Shape& shape, int position, int r, int s);

/// Places of one filter row that one lane reaches by shifts: from s[j] to s[j + 1] every lane takes what the
/// lane `lanes_per_shift` after it held. With a stride or a dilation these are the columns that leave one
/// remainder.
struct Run {
  int r = 0;
  int lanes_per_shift = 1;
  std::vector<int> s;
};

/// The order of k, the same for every schedule and the reference: runs in the order of this list, in a run
/// the blocks of k channels, in a block the places s, in a place the channels. Without stride or with stride
/// and dilation equal a run is one filter row, left to right.
std::vector<Run> runs_of(const Shape& shape);

/// Blocks of `k` channels; the last one is filled up with +0.
constexpr int blocks_of(const Shape& shape, int k) { return (shape.channels + k - 1) / k; }

}  // namespace mmaudit::conv
