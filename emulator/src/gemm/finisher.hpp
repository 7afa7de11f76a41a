#pragma once
// Bits of D of many sums on the host.
#include <bit>

#include "mmaudit/epilogue.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit {

/// A binary32 number as bits of f32, bf16 or f16: encode_nearest_even(), without a branch that depends on the
/// number where the format allows it.
class FastStore {
 public:
  explicit FastStore(Format output)
      : output_(output),
        nan_(static_cast<std::uint32_t>(spec_of(output).conversion_nan_bits())),
        cast_(spec_of(output), {}) {}
  [[nodiscard]] std::uint64_t operator()(float x) const {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if (output_ == Format::f32) return x == x ? bits : nan_;
    if (output_ == Format::bf16) return x == x ? (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 : nan_;
    return cast_(static_cast<double>(x));
  }

 private:
  Format output_;
  std::uint32_t nan_;
  FastCast cast_;
};

/// What: bits of D, as Epilogue says, of a sum in one format and a C in the output format.
class Finisher {
 public:
  Finisher(const Epilogue& epilogue, const FormatSpec& sum_format)
      : epilogue_(epilogue), sum_(sum_format), c_(spec_of(epilogue.output)), store_(epilogue.output) {}
  [[nodiscard]] std::uint64_t operator()(std::uint64_t sum, std::uint64_t c) const {
    const auto x = static_cast<float>(sum_(sum));
    if (epilogue_.beta == 0) return store_(epilogue_.alpha * x);
    return store_(combined(EpilogueRule::fused_sum, spec_of(epilogue_.output), epilogue_.alpha, x,
                           epilogue_.beta, static_cast<float>(c_(c))));
  }

 private:
  Epilogue epilogue_;
  FastDecode sum_, c_;
  FastStore store_;
};

}  // namespace mmaudit
