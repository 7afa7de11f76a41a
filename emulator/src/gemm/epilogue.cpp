#include "gemm/epilogue.hpp"

#include <bit>
#include <cmath>

#include "mmaudit/arithmetic/round.hpp"
#include "mmaudit/arithmetic/unpack.hpp"

namespace mmaudit {

std::uint64_t finished(const Epilogue& epilogue, std::uint64_t sum_bits, const FormatSpec& sum_format,
                       std::uint64_t c_bits) {
  const FormatSpec output = spec_of(epilogue.output), f32 = spec_of(Format::f32);
  const auto value = [&](std::uint64_t bits, const FormatSpec& format) {
    const Operand x = unpack(format, {}, bits);
    if (x.kind == Kind::nan) return std::nanf("");
    if (x.kind == Kind::infinite) return x.negative ? -INFINITY : INFINITY;
    const float magnitude_of =
        std::ldexp(static_cast<float>(magnitude(x.significand)), x.exponent - format.fraction_bits);
    return x.negative ? -magnitude_of : magnitude_of;
  };
  const float sum = value(sum_bits, sum_format);
  const float result = epilogue.beta == 0
                           ? epilogue.alpha * sum
                           : std::fma(epilogue.alpha, sum, epilogue.beta * value(c_bits, output));
  OutputRule rule;
  rule.format = output.id;
  rule.fraction_bits = output.fraction_bits;
  rule.rounding = Rounding::nearest_even;
  rule.zero_sign = ZeroSign::ieee;
  if (std::isnan(result)) return nan_bits(rule, output);
  if (std::isinf(result)) return infinity_bits(output, result < 0);
  const Operand x = unpack(f32, {}, std::bit_cast<std::uint32_t>(result));
  return round_to_output(magnitude(x.significand), x.negative, x.exponent - f32.fraction_bits, rule, output,
                         x.negative);
}

}  // namespace mmaudit
