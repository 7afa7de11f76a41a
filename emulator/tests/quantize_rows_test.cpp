// The vector code that makes elements: the bits of the loop that counts them, which takes one number after
// another.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "mmaudit/detail/quantize_loop.hpp"

namespace mmaudit {
namespace {

struct Made {
  std::vector<std::uint8_t> elements, scales;
  std::vector<float> factors;
  bool operator==(const Made&) const = default;
};

/// Binary32 numbers of which some blocks are wide, tiny, all zero, subnormal, halfway between elements, or
/// hold what is not finite.
std::vector<float> hostile(std::size_t count, std::mt19937& random, bool specials) {
  std::vector<float> out(count);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> kind(0, specials ? 9 : 8), bit(0, 31);
  int now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 16 == 0) now = kind(random);
    const auto any = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const float x = normal(random);
    switch (now) {
      case 0:
        out[i] = std::isfinite(any) ? any : 1.0F;
        break;
      case 1:
        out[i] = x * 0x1p-130F;
        break;
      case 2:
        out[i] = std::signbit(x) ? -0.0F : 0.0F;
        break;
      case 3:
        out[i] = std::round(x * 8) / 16;  // ties
        break;
      case 4:
        out[i] = x * (bit(random) == 0 ? 1000.0F : 1.0F);
        break;
      case 5:
        out[i] = std::ldexp(x, bit(random) - 16);
        break;
      case 6:
        out[i] = 0x1.fffffep127F * (bit(random) % 2 == 0 ? 1.0F : -0.5F);
        break;
      case 9:
        out[i] = bit(random) % 2 == 0 ? any : std::numeric_limits<float>::infinity() * (x > 0 ? 1.0F : -1.0F);
        break;
      default:
        out[i] = x;
    }
  }
  return out;
}

std::vector<std::uint8_t> stored(const std::vector<float>& x, const FormatSpec& format) {
  std::vector<std::uint8_t> out(x.size() * format.storage_bytes());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t bits =
        cast_bits(std::bit_cast<std::uint32_t>(x[i]), spec_of(Format::f32), format, {});
    std::memcpy(&out[i * format.storage_bytes()], &bits, format.storage_bytes());
  }
  return out;
}

template <typename Run>
Made made(Quantization work, const Run& run) {
  Made out;
  out.elements.resize(work.batch * work.lanes * work.k * work.rule.element.storage_bytes());
  out.scales.resize(work.batch * work.lanes * work.scale_blocks());
  out.factors.resize(work.factor_count() + 1);
  work.elements = out.elements.data(), work.scales = out.scales.data(), work.factors = out.factors.data();
  run(work);
  return out;
}

TEST(QuantizeRows, VectorsAndSinglesGiveTheSameBits) {
  std::mt19937 random(20261128);
  std::size_t cases = 0, served = 0;
  for (const GemmDtype& dtype : gemm_dtypes()) {
    std::vector<std::pair<std::string, std::vector<Scaling>>> rows = {{"of its own", usual_scalings(dtype)}};
    for (const std::string& name : scaling_names()) rows.emplace_back(name, find_scalings(name));
    for (const auto& [name, scalings] : rows)
      for (const Scaling& scaling : scalings)
        for (const Format from : {Format::f32, Format::bf16, Format::f16})
          for (int shape = 0; shape < 6; ++shape) {
            GemmCombination both;
            both.dtype = dtype, both.scaling = scaling;
            Quantization work;
            work.rule = quantize_rule(dtype, settled(both).scaling, shape % 2 == 1);
            work.from = spec_of(from);
            work.batch = 1 + static_cast<std::uint64_t>(shape) / 4, work.lanes = 1 + random() % 18,
            work.k = 1 + random() % 100;
            work.k_outside = shape % 2 == 1;
            work.lane_stride = shape < 3 ? work.k : 1, work.k_stride = shape < 3 ? 1 : work.lanes;
            work.batch_stride = work.lanes * work.k;
            const std::vector<std::uint8_t> x =
                stored(hostile(work.batch * work.lanes * work.k, random, shape % 3 != 0), work.from);
            work.x = x.data();
            const auto singly = [](const Quantization& one) {
              detail::QuantizeLoop(one).run(1, [](const detail::QuantizedElement&) {});
            };
            const Made slow = made(work, singly),
                       fast = made(work, [](const Quantization&one) { quantize(one, 2); });
            ASSERT_TRUE(std::memcmp(slow.factors.data(), fast.factors.data(), slow.factors.size() * 4) == 0 &&
                        slow.scales == fast.scales && slow.elements == fast.elements)
                << dtype.name << " " << name << " of " << name_of(from) << ", shape " << shape << ": "
                << work.lanes << " x " << work.k;
            ++cases;
            served += detail::QuantizeTile(work, &detail::row_functions()).serves() ? 1 : 0;
          }
  }
  EXPECT_GT(cases, 1000U);
  EXPECT_GT(served, cases / 2);
}

}  // namespace
}  // namespace mmaudit
