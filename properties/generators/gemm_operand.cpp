#include "mmaudit/generators/gemm_operand.hpp"

#include <bit>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::gen {
namespace {

/// Where in the first half the partner of `k` stands, an element of the second half.
constexpr std::uint64_t partner(std::uint64_t k, std::uint64_t half) {
  constexpr std::uint64_t kTurn = 37;  // no power of two: partners meet in no tile
  return (k - half + half - kTurn % half) % half;
}

/// In (-1, 1), exponents spread over 8 values; 24 bits, of f64 53.
constexpr double spread(std::uint64_t word, Format format) {
  const double x = format == Format::f64 ? static_cast<double>(word >> 11) * 0x1p-52 - 1
                                         : static_cast<double>(word >> 40) * 0x1p-23 - 1;
  return x / static_cast<double>(1U << (word & 7));
}

std::uint64_t nearest(double x, Format format) {
  return format == Format::f64 ? std::bit_cast<std::uint64_t>(x) : encode_nearest_even(x, spec_of(format));
}

}  // namespace

std::uint64_t gemm_addend(std::uint64_t seed, Format format, std::uint64_t row, std::uint64_t column) {
  const std::uint64_t word = mixed(~mixed(seed) ^ mixed(row * 0x100000001U + column));
  return nearest(spread(word, format), format);
}

std::uint64_t gemm_operand(std::uint64_t seed, GemmSide side, Format format, std::uint64_t outer,
                           std::uint64_t k, std::uint64_t depth) {
  const std::uint64_t half = depth / 2, which = side == GemmSide::b ? 1 : 0;
  const bool cancels = half != 0 && k >= half && k < 2 * half && (which == 1 || outer % 2 == 0);
  const std::uint64_t from = cancels ? partner(k, half) : k;
  const std::uint64_t word = mixed(mixed(2 * seed + which) ^ mixed(outer * 0x100000001U + from));
  if (format == Format::s8) return word & 0xFF;
  const bool fp8 = format == Format::e4m3 || format == Format::e5m2;
  double x = spread(fp8 ? word & ~std::uint64_t{4} : word, format);
  if (fp8) x *= 16;
  if (cancels && which == 0) x = -x;
  return nearest(x, format == Format::tf32 ? Format::f32 : format);
}

std::vector<std::byte> gemm_operands(std::uint64_t seed, GemmSide side, Format format,
                                     const std::vector<std::uint64_t>& outer, std::uint64_t depth) {
  const std::size_t bytes = spec_of(format).storage_bytes(), count = outer.size();
  std::vector<std::byte> out(count * depth * bytes);
  for (std::size_t i = 0; i < count; ++i)
    for (std::uint64_t k = 0; k < depth; ++k)
      store_word(out.data(), bytes, side == GemmSide::a ? i * depth + k : k * count + i,
                 gemm_operand(seed, side, format, outer[i], k, depth));
  return out;
}

}  // namespace mmaudit::gen
