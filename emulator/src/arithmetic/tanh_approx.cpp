#include "mmaudit/tanh_approx.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace mmaudit {
namespace {

struct Segment {
  std::int32_t constant, linear, square;
};
constexpr Segment kSegments[] = {
    {8388608, 65536, -1},     {8388480, 65532, -3},     {8387968, 65524, -13},    {8385888, 65476, -41},
    {12573728, 65394, -55},   {8377696, 65292, -159},   {12546144, 64976, -222},  {8345192, 64532, -559},
    {10401240, 63972, -676},  {12437488, 63296, -790},  {14450304, 62506, -891},  {8218080, 61636, -2069},
    {10157208, 59560, -2412}, {12024448, 57143, -2686}, {13809984, 54451, -2894}, {7753000, 51571, -6162},
    {9304656, 45374, -6288},  {10656104, 39063, -6038}, {11809672, 33011, -5543}, {12777544, 54922, -9823},
    {13577912, 45102, -8478}, {14231944, 36634, -7144}, {14761140, 29501, -5923}, {15185952, 23590, -4842},
    {15524804, 18760, -3922}, {15793720, 14850, -3144}, {16006268, 11716, -2509}, {16173728, 36874, -7973},
    {16305345, 28942, -6295}, {16408581, 22674, -4949}, {16489421, 17746, -3892}, {16552657, 13870, -3047},
    {16602069, 10835, -2388}, {16640655, 8457, -1867},  {16670765, 6599, -1460},  {16694254, 5146, -1139},
    {16712570, 4012, -889},   {16726848, 3127, -693},   {16737977, 2437, -541},   {16746648, 1899, -421},
    {16753405, 1479, -327},   {16758669, 1152, -254},   {16762770, 897, -197},    {16766000, 659, -438},
    {16773088, 243, -162},    {16775696, 89, -58},      {16776656, 33, -22},      {16777012, 12, -8},
    {16777140, 5, -4},        {16777188, 2, -2},        {16777204, 1, -1},
};

/// Operands in [2^exponent, 2^(exponent + 1)): the first of their segments, how many low bits of the fraction
/// are dropped, and where the coefficients have their binary points.
struct Binade {
  int exponent, first, dropped, linear_shift, square_shift;
};
constexpr Binade kBinades[] = {
    {-8, 0, 6, 10, 7},  {-7, 1, 6, 10, 7},  {-6, 2, 6, 10, 7},   {-5, 3, 5, 11, 9},
    {-4, 5, 5, 11, 9},  {-3, 7, 4, 12, 11}, {-2, 11, 4, 12, 11}, {-1, 15, 4, 12, 11},
    {0, 19, 3, 13, 12}, {1, 27, 2, 15, 14}, {2, 43, 3, 13, 12},
};

constexpr int kFraction = 23, kKept = 17;  ///< bits of binary32; of an operand inside its segment
/// Columns of the square below this one are in no sum.
constexpr int kLeastColumn = 19;

/// x * x / 2^19 of 17 bits, from the partial products x_i x_j whose column i + j, or i + j + 1 of two equal
/// ones, is kept.
std::int64_t square_of(std::uint32_t x) {
  std::int64_t sum = 0;
  for (int i = 0; i < kKept; ++i) {
    if ((x >> i & 1) == 0) continue;
    if (2 * i >= kLeastColumn) sum += std::int64_t{1} << (2 * i - kLeastColumn);
    for (int j = i + 1; j < kKept; ++j)
      if (i + j + 1 >= kLeastColumn && (x >> j & 1) != 0)
        sum += std::int64_t{1} << (i + j + 1 - kLeastColumn);
  }
  return sum;
}

}  // namespace

float tanh_approx(float x) {
  const float size = std::fabs(x);
  if (std::isnan(x)) return std::bit_cast<float>(0x7FFFFFFFU);
  if (size < 0x1p-8F) return x;
  if (size >= 8) return std::copysign(1.0F, x);
  const auto bits = std::bit_cast<std::uint32_t>(size);
  const int exponent = static_cast<int>(bits >> kFraction) - 127;
  const Binade& binade = kBinades[exponent - kBinades[0].exponent];
  const std::uint32_t fraction = bits & ((1U << kFraction) - 1);
  const int inside = kKept + binade.dropped;
  const Segment& segment = kSegments[binade.first + static_cast<int>(fraction >> inside)];
  const std::uint32_t at = (fraction & ((1U << inside) - 1)) >> binade.dropped;
  // In units of the last place of a result that has 24 bits, and 16 bits below them.
  constexpr int kBelow = 16;
  const std::int64_t sum =
      (std::int64_t{segment.constant} << kBelow) +
      ((std::int64_t{segment.linear} * at) << (kBelow - binade.linear_shift)) +
      segment.square * square_of(at) * (std::int64_t{1} << (kBelow - binade.square_shift));
  const int unit = (exponent < 0 ? exponent : -1) - kFraction;
  // A result just below the binade of the operand has one bit more.
  const bool below = sum < std::int64_t{1} << (kFraction + kBelow);
  const std::int64_t cut = sum >> (below ? kBelow - 1 : kBelow);
  return std::copysign(std::ldexp(static_cast<float>(cut), below ? unit - 1 : unit), x);
}

}  // namespace mmaudit
