#pragma once
// The known faults of a product, each of which predicts a D.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/exact_product.hpp"

namespace mmaudit::exact {

/// A product that is not what was asked. Powers: 0 ignored, 1 right, 2 applied twice.
struct Fault {
  std::string_view text;
  int alpha = 1, beta = 1, scale_a = 1, scale_b = 1, bias = 1;
  bool swapped = false;                                  ///< the scales of A and B
  int lane_a = 0, block_a = 0, lane_b = 0, block_b = 0;  ///< the scale of another row, column, block of K
  int bias_column = 0;                                   ///< the bias of another column
  bool bias_of_row = false;
  enum class Early : std::uint8_t { no, bias, all } early = Early::no;  ///< what is added before the scales
  bool no_relu = false, early_relu = false;
  int stride_a = 0, stride_b = 0, ld_a = 0, ld_b = 0;  ///< elements that a stride is too long
  char turned = 0;              ///< 'A', 'B', 'D': taken transposed, where it is square
  int c_row = 0, c_column = 0;  ///< C of another place
  std::uint64_t c_seed = 0;     ///< C of another round; 0: of this one
};
// clang-format off
inline constexpr Fault kFaults[] = {
    {.text = "alpha is ignored", .alpha = 0},
    {.text = "alpha is applied twice: alpha squared", .alpha = 2},
    {.text = "beta is ignored, C is added as it is", .beta = -1},
    {.text = "beta is ignored, C is not added", .beta = 0},
    {.text = "beta is applied twice: beta squared", .beta = 2},
    {.text = "scale_a is ignored", .scale_a = 0},
    {.text = "scale_b is ignored", .scale_b = 0},
    {.text = "scale_a and scale_b are ignored", .scale_a = 0, .scale_b = 0},
    {.text = "scale_a is applied twice", .scale_a = 2},
    {.text = "scale_b is applied twice", .scale_b = 2},
    {.text = "scale_a and scale_b are exchanged", .swapped = true},
    {.text = "scale_a is the next block's of K", .block_a = 1},
    {.text = "scale_a is the block's before in K", .block_a = -1},
    {.text = "scale_b is the next block's of K", .block_b = 1},
    {.text = "scale_b is the block's before in K", .block_b = -1},
    {.text = "scale_a is the next row's", .lane_a = 1},
    {.text = "scale_a is the row's before", .lane_a = -1},
    {.text = "scale_b is the next column's", .lane_b = 1},
    {.text = "scale_b is the column's before", .lane_b = -1},
    {.text = "the bias is ignored", .bias = 0},
    {.text = "the bias is added twice", .bias = 2},
    {.text = "the bias is the next column's", .bias_column = 1},
    {.text = "the bias is the column's before", .bias_column = -1},
    {.text = "the bias is the row's, not the column's", .bias_of_row = true},
    {.text = "the epilogue comes before the scale: the bias is scaled too", .early = Fault::Early::bias},
    {.text = "the epilogue comes before the scale: C and the bias are scaled too", .early = Fault::Early::all},
    {.text = "relu is left out", .no_relu = true},
    {.text = "relu comes before C and the bias are added", .early_relu = true},
    {.text = "the batch stride of A is off by one: one element too long", .stride_a = 1},
    {.text = "the batch stride of A is off by one: one element too short", .stride_a = -1},
    {.text = "the batch stride of B is off by one: one element too long", .stride_b = 1},
    {.text = "the batch stride of B is off by one: one element too short", .stride_b = -1},
    {.text = "the leading dimension of A is off by one: one element too long", .ld_a = 1},
    {.text = "the leading dimension of A is off by one: one element too short", .ld_a = -1},
    {.text = "the leading dimension of B is off by one: one element too long", .ld_b = 1},
    {.text = "the leading dimension of B is off by one: one element too short", .ld_b = -1},
    {.text = "A is taken transposed", .turned = 'A'},
    {.text = "B is taken transposed", .turned = 'B'},
    {.text = "D is transposed", .turned = 'D'},
};
// clang-format on

/// The known fault that gives D, in words. `part`: it may be one that holds for the wrong elements alone, if
/// there are enough of them. Empty: there is none. `seed`: of the check's first round.
std::string known_fault_of(const Product& x, const Words& words, std::uint64_t seed,
                           const std::vector<double>& d, const std::vector<double>& right, bool part);

}  // namespace mmaudit::exact
