#include "hostile_sets.hpp"

#include <algorithm>
#include <string_view>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::bench {
namespace {

constexpr Path kPaths[] = {
    {"f16", "hopper", "wgmma.m64n64k16.f32.f16.f16"},
    {"bf16", "hopper", "wgmma.m64n64k16.f32.bf16.bf16"},
    {"tf32", "hopper", "wgmma.m64n64k8.f32.tf32.tf32"},
    {"e4m3", "hopper", "wgmma.m64n64k32.f32.e4m3.e4m3"},
    {"e5m2", "hopper", "wgmma.m64n64k32.f32.e5m2.e5m2"},
    {"e4m3 widened", "hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32"},
    {"f16 sums", "hopper", "wgmma.m64n64k16.f16.f16.f16"},
    {"f16 Volta", "volta", "mma.m8n8k4.f32.f16.f16.f32"},
    {"mxf8", "blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0"},
    {"NVFP4", "blackwell", "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"},
    {"MXFP4", "blackwell", "tcgen05.m128n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0"},
    {"f16 sparse", "hopper", "wgmma.sp.m64n64k32.f32.f16.f16"},
    {"e4m3 sparse", "hopper", "wgmma.sp.m64n64k64.f32.e4m3.e4m3"},
    {"f16 CDNA2", "cdna2", "v_mfma_f32_32x32x8f16"},
    {"f16 CDNA3", "cdna3", "v_mfma_f32_32x32x8f16"},
    {"bf16 CDNA3", "cdna3", "v_mfma_f32_32x32x8bf16_1k"},
    {"xf32 CDNA3", "cdna3", "v_mfma_f32_16x16x8_xf32"},
    {"fp8 CDNA3", "cdna3", "v_mfma_f32_16x16x32_fp8_fp8"},
};

double normal(Draw& draw) { return draw.normal(); }
const DataSet kSets[] = {
    {"equal exponents", Put::numbers,
     [](Draw& x) { return std::copysign(1.5 + x.uniform() / 2, x.uniform()); }},
    {"normal", Put::numbers, normal},
    {"finite bits", Put::any_bits, normal},
    {"outliers x 20", Put::numbers, [](Draw& x) { return x.outlier(20); }},
    {"outliers x 1000", Put::numbers, [](Draw& x) { return x.outlier(1000); }},
    {"Student t (2)", Put::numbers, [](Draw& x) { return x.student(); }},
    {"Inf in 1% of rows", Put::infinity, normal},
    {"NaN in 1% of rows", Put::nan, normal},
    {"3/4 zeros", Put::numbers, [](Draw& x) { return x.random() % 4 != 0 ? 0.0 : x.normal(); }},
    {"subnormals", Put::numbers, [](Draw& x) { return std::ldexp(x.uniform(), x.format.min_exponent()); }},
    {"cancelling pairs", Put::cancel, normal},
    {"whole range", Put::any_scales,
     [](Draw& x) {
       std::uniform_int_distribution<int> exponent(x.format.min_exponent(), x.format.max_exponent() - 1);
       return std::ldexp(1 + std::fabs(x.uniform()), exponent(x.random)) * (x.random() % 2 == 0 ? 1 : -1);
     }},
};

std::uint64_t finite_bits(const FormatSpec& format, std::mt19937_64& random) {
  const std::uint64_t magnitude = random() % (format.max_finite_bits() + 1);
  const bool has_sign =
      !format.signless && (magnitude != 0 || format.specials != Specials::nan_at_minus_zero);
  return magnitude | (has_sign && random() % 2 != 0 ? format.sign_bit() : 0);
}

}  // namespace

std::span<const Path> paths() { return kPaths; }
std::span<const DataSet> data_sets() { return kSets; }

DrawnOperand drawn(const DataSet& set, const FormatSpec& format, const FormatSpec* scale, std::uint64_t block,
                   std::uint64_t lines, std::uint64_t depth, bool of_b, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  DrawnOperand out;
  const std::size_t bytes = format.storage_bytes();
  out.elements.resize(lines * depth * bytes);
  const std::uint64_t blocks = scale == nullptr ? 0 : (depth + block - 1) / block;
  out.scales.resize(lines * blocks);
  const double largest = std::fabs(std::ldexp(1.5, format.max_exponent()));
  std::vector<double> numbers(depth);
  for (std::uint64_t line = 0; line < lines; ++line) {
    Draw draw{random, scale == nullptr ? format : *scale, line, 0, of_b};
    for (std::uint64_t& k = draw.k; k < depth; ++k)
      numbers[k] = set.put == Put::any_scales && scale != nullptr ? draw.normal() : set.number(draw);
    for (std::uint64_t k = 1; set.put == Put::cancel && k < depth; k += 2)
      numbers[k] = of_b ? numbers[k - 1] : -numbers[k - 1];
    const auto at = [&](std::uint64_t k, std::uint64_t width) {
      return of_b ? k * lines + line : line * width + k;
    };
    for (std::uint64_t b = 0; b < blocks; ++b) {
      const std::uint64_t end = std::min(depth, (b + 1) * block);
      double most = 0;
      for (std::uint64_t k = b * block; k < end; ++k) most = std::max(most, std::fabs(numbers[k]));
      double by = set.put == Put::any_scales ? 1 : most / largest;
      if (std::string_view(set.name) == "equal exponents") by = 1;
      std::uint64_t byte = encode_nearest_even(by, *scale);
      if (set.put == Put::any_bits || set.put == Put::any_scales) byte = finite_bits(*scale, random);
      out.scales[at(b, blocks)] = static_cast<std::uint8_t>(byte);
      for (std::uint64_t k = b * block; k < end && by > 0; ++k) numbers[k] /= by;
    }
    for (std::uint64_t k = 0; k < depth; ++k)
      store_word(
          out.elements.data(), bytes, at(k, depth),
          set.put == Put::any_bits ? finite_bits(format, random) : encode_nearest_even(numbers[k], format));
    if (of_b || line % 100 != 50) continue;
    const std::uint64_t where = random() % depth, nan_code = format.sign_bit() - 1;
    if (set.put == Put::nan && scale != nullptr) {
      out.scales[at(where / block, blocks)] = static_cast<std::uint8_t>(scale->max_finite_bits() + 1);
      out.has_special = true;
    } else if (set.put == Put::nan && format.specials != Specials::finite) {
      const bool minus_zero = format.specials == Specials::nan_at_minus_zero;
      store_word(out.elements.data(), bytes, at(where, depth), minus_zero ? format.sign_bit() : nan_code);
      out.has_special = true;
    } else if (set.put == Put::infinity && format.specials == Specials::ieee) {
      store_word(out.elements.data(), bytes, at(where, depth), format.infinity_bits());
      out.has_special = true;
    }
  }
  return out;
}

}  // namespace mmaudit::bench
