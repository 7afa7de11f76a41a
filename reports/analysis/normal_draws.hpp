#pragma once
// Standard normal numbers in the order that the published experiments drew them:
// std::normal_distribution<float> of libstdc++ over std::mt19937. Spelled out because the standard leaves the
// algorithm open and later libraries changed it, which would move every published digit.
#include <cmath>
#include <random>

#include "mmaudit/convert.hpp"

namespace mmaudit::report {

class NormalDraws {
 public:
  explicit NormalDraws(unsigned seed) : bits_(seed) {}

  /// Marsaglia's polar method in binary32; a pair is made at once and its first half is handed out last.
  float operator()() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    float x = 0, y = 0, square = 0;
    do {
      x = 2.0F * uniform() - 1.0F;
      y = 2.0F * uniform() - 1.0F;
      square = x * x + y * y;
    } while (square > 1.0F || square == 0.0F);
    const float scale = std::sqrt(-2.0F * std::log(square) / square);
    spare_ = x * scale;
    has_spare_ = true;
    return y * scale;
  }

 private:
  /// In [0, 1); 32 random bits rounded to binary32, and the 1 that rounding can give is stepped down.
  float uniform() {
    const float u = static_cast<float>(bits_()) / 4294967296.0F;
    return u < 1.0F ? u : std::nextafter(1.0F, 0.0F);
  }

  std::mt19937 bits_;
  float spare_ = 0;
  bool has_spare_ = false;
};

inline constexpr unsigned kPublishedSeed = 123456;

/// How the authors' programs convert numbers of a type.
struct PublishedCasts {
  CastRule draw;  ///< a drawn number to the low type, before both sides see it
  CastRule load;  ///< on the way into the instruction
};
/// The TF32 programs draw by masking the low bits but load by cvt.rna. FP8 has no program to follow.
constexpr PublishedCasts published_casts(Format low) {
  if (low == Format::tf32) return {{CastRounding::toward_zero, false}, {CastRounding::nearest_away, false}};
  const CastRule rule{CastRounding::nearest_even, low == Format::e4m3 || low == Format::e5m2};
  return {rule, rule};
}

/// A drawn number as the programs see it.
inline float cast_draw(float value, Format low) {
  const FormatSpec spec = spec_of(low);
  return static_cast<float>(decode_value(encode_value(value, spec, published_casts(low).draw), spec));
}

}  // namespace mmaudit::report
