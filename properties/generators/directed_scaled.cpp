// Directed cases of block-scaled instructions: what scales and groups do at the edges of a datapath.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "directed_case.hpp"
#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/convert.hpp"

namespace mmaudit::gen {
namespace {

std::optional<std::uint64_t> exactly(double value, Format format) {
  const FormatSpec spec = spec_of(format);
  const std::uint64_t bits = encode_nearest_even(value, spec);
  if (decode_value(bits, spec) != value) return std::nullopt;
  return bits;
}

/// Builds one case from values; what the formats cannot express drops it.
class ScaledCase {
 public:
  ScaledCase(const Instruction& instruction, std::string_view question) : row_(instruction) {
    dot_.question = question;
    dot_.a.assign(static_cast<std::size_t>(row_.stored_k()), 0);
    dot_.b = dot_.a;
    dot_.scale_a.assign(static_cast<std::size_t>(scales_of(row_)),
                        static_cast<std::uint8_t>(one_bits(spec_of(row_.scale))));
    dot_.scale_b = dot_.scale_a;
  }

  ScaledCase& term(int k, double a, double b) {
    dot_.a.at(static_cast<std::size_t>(k)) = take(a, row_.a);
    dot_.b.at(static_cast<std::size_t>(k)) = take(b, row_.b);
    return *this;
  }
  /// Every k of [first, last].
  ScaledCase& terms(int first, int last, double a, double b) {
    for (int k = first; k <= last; ++k) term(k, a, b);
    return *this;
  }
  /// The scales of the block that holds k: together 2^exponent, as evenly as the format allows.
  ScaledCase& scale(int k, int exponent) {
    const FormatSpec spec = spec_of(row_.scale);
    const int least = spec.min_exponent() - spec.fraction_bits;
    const int half = std::clamp(exponent / 2, std::max(least, exponent - spec.max_exponent()),
                                std::max(least, std::min(spec.max_exponent(), exponent - least)));
    return bytes(k, take(std::ldexp(1.0, half), row_.scale),
                 take(std::ldexp(1.0, exponent - half), row_.scale));
  }
  ScaledCase& scale_all(int exponent) {
    for (int k = 0; k < row_.stored_k(); k += products_per_scale(row_)) scale(k, exponent);
    return *this;
  }
  ScaledCase& bytes(int k, std::uint64_t a, std::uint64_t b) {
    const auto block = static_cast<std::size_t>(k / products_per_scale(row_));
    dot_.scale_a.at(block) = static_cast<std::uint8_t>(a);
    dot_.scale_b.at(block) = static_cast<std::uint8_t>(b);
    return *this;
  }
  /// a_k * b_k with its scales = significand * 2^exponent; the significand is 1, 1.5 or a negative of these.
  ScaledCase& value(int k, double significand, int exponent) {
    for (const int elements : {-2, -1, 0, 1, 2, 3}) {
      const int rest = exponent - elements;
      const double b = std::ldexp(1.0, elements / 2),
                   a = significand * std::ldexp(1.0, elements - elements / 2);
      ScaledCase trial = *this;
      trial.term(k, a, b).scale(k, rest);
      if (trial.applies_) return *this = trial;
    }
    applies_ = false;
    return *this;
  }
  ScaledCase& c(double value) {
    dot_.c = take(value, row_.c);
    return *this;
  }
  ScaledCase& raw_c(std::uint64_t bits) {
    dot_.c = bits;
    return *this;
  }
  void into(Dots& out) {
    if (applies_) out.push_back(dot_);
  }

 private:
  std::uint64_t take(double value, Format format) {
    const auto bits = exactly(value, format);
    if (!bits) applies_ = false;
    return bits.value_or(0);
  }

  Instruction row_;
  DirectedDot dot_;
  bool applies_ = true;
};

double power(int exponent) { return std::ldexp(1.0, exponent); }

/// Scale exponents around which the cases below are laid: 1, the ends of the format, the floor.
std::vector<int> bases(const Instruction& instruction, const Datapath& datapath) {
  const FormatSpec scale = spec_of(instruction.scale);
  std::vector<int> all = {0, std::min(2 * scale.max_exponent(), 60)};
  if (2 * scale.min_exponent() < datapath.min_alignment_exponent) all.push_back(-60);
  return all;
}

/// Two groups that cancel and a third about the last bit kept beside them; k = 32 starts a block and a group.
void scan_last_bit(const Instruction& inst, const Datapath& model, int base, Dots& out) {
  const auto fraction = [&] { return ScaledCase(inst, "fraction bits"); };
  for (int j = model.fraction_bits - 3; j <= model.fraction_bits + 3; ++j) {
    for (const double small : {1.0, -1.0, 1.5, -1.5}) {
      fraction().scale(0, base).term(0, 0.5, 0.5).c(-power(base - 2)).value(32, small, base - j).into(out);
      fraction().scale_all(base).term(0, 1, 1).term(16, -1, 1).value(32, small, base - j).into(out);
      fraction().scale_all(base).term(0, 1, 1).term(16, -1, 1).c(small * power(base - j)).into(out);
      // The same beside a power of two, where the last bit decides the direction of the output rounding.
      ScaledCase(inst, "rounding")
          .scale(0, base)
          .term(0, 1, 1)
          .c(power(base - 24))
          .value(32, small, base - j)
          .into(out);
    }
    // Two halves of a unit and more: added first in one group, cut off one by one in two.
    for (const int second : {33, 40, 48}) {
      for (const double sign : {1.0, -1.0}) {
        ScaledCase pair(inst, "groups");
        pair.scale(0, base).term(0, 0.5, 0.5).c(-power(base - 2)).value(32, sign, base - j);
        ScaledCase(pair).value(second, sign, base - j).into(out);
        pair.value(32, sign * 1.5, base - j);
        ScaledCase(pair).value(second, sign, base - j).into(out);
      }
    }
  }
}

void scan_group_exponent(const Instruction& inst, const Datapath& model, int base, Dots& out) {
  for (int j = model.fraction_bits - 1; j <= model.fraction_bits + 1; ++j) {
    const double c = power(base - j);
    // Large sums that cancel between two groups, a group that cancels in itself, one of zeros only.
    for (const double a : {6.0, 2.0, 0.5})
      ScaledCase(inst, "group exponent").scale_all(base).term(0, a, a).term(16, -a, a).c(c).into(out);
    ScaledCase(inst, "group exponent").scale_all(base).terms(0, 15, 6, 6).terms(16, 31, -6, 6).c(c).into(out);
    ScaledCase(inst, "cancelled group").scale(0, base).term(0, 6, 6).term(1, -6, 6).c(c).into(out);
    ScaledCase(inst, "cancelled group").scale(0, base).term(0, 0.5, 0.5).term(15, 0.5, -0.5).c(-c).into(out);
    ScaledCase(inst, "zero group").scale(0, base).c(c).into(out);
    ScaledCase(inst, "zero group").scale(0, base).terms(0, 15, 0, 6).c(c).into(out);
    ScaledCase(inst, "zero group").scale(0, base).terms(0, 15, -0.0, 6).c(-c).into(out);
  }
  ScaledCase(inst, "cancelled group").scale(0, 40).term(0, 6, 6).term(1, -6, 6).c(16).into(out);
  ScaledCase(inst, "zero group").scale(0, 40).c(16).into(out);
}

/// The least results, and what the floor and a subnormal c leave beside them.
void scan_bottom(const Instruction& inst, const Datapath& model, Dots& out) {
  const int last = model.min_alignment_exponent - model.fraction_bits, least = -149;
  for (int j = -2; j <= 2; ++j) {
    for (const double sign : {1.0, -1.0}) {
      ScaledCase(inst, "floor").value(0, sign, least).value(32, -sign, last + j).into(out);
      ScaledCase(inst, "floor").value(0, sign, least - 1).value(32, sign, last + j).into(out);
      ScaledCase(inst, "floor").value(0, sign, least - 1).value(32, sign, least - 1 + j).into(out);
      const int unit = -126 - model.fraction_bits;
      ScaledCase(inst, "subnormal c").c(sign * power(least)).value(32, -sign, unit + j).into(out);
    }
  }
  for (const double c : {0.0, -0.0}) {
    ScaledCase(inst, "sign of zero").value(0, -1, least - 2).c(c).into(out);
    ScaledCase(inst, "sign of zero").terms(0, inst.stored_k() - 1, -0.0, 1).c(c).into(out);
    ScaledCase(inst, "sign of zero").terms(0, inst.stored_k() - 1, 0, 0).c(c).into(out);
  }
  for (const std::uint64_t c : {0x00000001U, 0x807FFFFFU, 0x00800000U, 0x3F8003FFU, 0x7F7FFFFFU, 0x40490FDBU})
    ScaledCase(inst, "c alone").raw_c(c).into(out);
}

void scan_top(const Instruction& inst, Dots& out) {
  for (const double sign : {1.0, -1.0}) {
    for (int e = 101; e <= 106; ++e)
      ScaledCase(inst, "overflow").raw_c(sign > 0 ? 0x7F7FFFFF : 0xFF7FFFFF).value(0, sign, e).into(out);
    ScaledCase(inst, "overflow").value(0, sign, 127).value(32, sign, 127).into(out);
    ScaledCase(inst, "overflow").value(0, sign, 128).value(32, -sign, 128).into(out);
    ScaledCase(inst, "overflow").value(0, sign, 128).value(32, -sign, 128 - 24).into(out);
  }
  ScaledCase(inst, "carry bits").scale_all(0).terms(0, inst.stored_k() - 1, 6, 6).raw_c(0x3FFFFFFF).into(out);
  ScaledCase(inst, "carry bits").scale_all(0).terms(0, inst.stored_k() - 1, 1.5, 1.5).c(1.875).into(out);
}

/// Codes of scales that are no ordinary numbers, above elements that are zero and that are not.
void scan_codes(const Instruction& inst, const Datapath& model, Dots& out) {
  const FormatSpec scale = spec_of(inst.scale);
  const std::uint64_t one = one_bits(scale), nan = scale.conversion_nan_bits();
  for (const double element : {0.0, 1.0}) {
    for (const std::uint64_t code : {nan, std::uint64_t{0xFF}, std::uint64_t{0}, std::uint64_t{1}, one | 0x80,
                                     one, scale.max_finite_bits()}) {
      for (const int k : {0, inst.stored_k() - products_per_scale(inst)}) {
        ScaledCase(inst, "scale codes").bytes(k, code, one).term(k, element, 1).c(16).into(out);
        ScaledCase(inst, "scale codes").bytes(k, one, code).term(k, 1, element).c(0).into(out);
        ScaledCase(inst, "scale codes").bytes(k, code, code).term(k, element, element).c(-1).into(out);
      }
    }
    ScaledCase(inst, "scale codes").bytes(0, nan, one).term(0, 0, 1).raw_c(0x7F800000).into(out);
  }
  // A subnormal scale: the exponent of its field, or its own.
  if (!scale.no_zero) {
    for (int j = model.fraction_bits; j <= model.fraction_bits + 4; ++j) {
      for (const std::uint64_t code : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{4}}) {
        ScaledCase subnormal(inst, "subnormal scales");
        for (int k = 0; k < inst.stored_k(); k += products_per_scale(inst)) subnormal.bytes(k, code, one);
        subnormal.term(0, 1, 1).term(16, -1, 1).c(power(scale.min_exponent() - j)).into(out);
      }
    }
  }
  // Each block its own scale: which one belongs to which.
  ScaledCase ordered(inst, "order of scales");
  for (int k = 0; k < inst.stored_k(); k += products_per_scale(inst))
    ordered.scale(k, k / products_per_scale(inst)).term(k, 1, 1);
  ordered.into(out);
  for (const std::uint64_t c : {0x7F800000U, 0xFF800000U, 0x7F800001U, 0xFFC12345U}) {
    ScaledCase(inst, "infinity and NaN").raw_c(c).into(out);
    ScaledCase(inst, "infinity and NaN").raw_c(c).term(3, 1, -1).into(out);
  }
}

/// Products of two formats of few bits never span what a floor cuts: only a sum that just reaches the least
/// result, two parts of it below the last bit kept, shows it. Greedy change-making in units of the least
/// product.
void scan_floor_by_sums(const Instruction& inst, const Datapath& model, Dots& out) {
  const FormatSpec a = spec_of(inst.a), b = spec_of(inst.b);
  if (a.value_bits() > 6 || b.value_bits() > 6) return;
  const int finest = a.min_exponent() - a.fraction_bits + b.min_exponent() - b.fraction_bits;
  struct Coin {
    double units, a, b;
  };
  std::vector<Coin> coins;
  for (std::uint64_t x = 1; x <= a.max_finite_bits(); ++x)
    for (std::uint64_t y = 1; y <= b.max_finite_bits(); ++y)
      coins.push_back(
          {decode_value(x, a) * decode_value(y, b) * power(-finest), decode_value(x, a), decode_value(y, b)});
  std::stable_sort(coins.begin(), coins.end(),
                   [](const Coin& x, const Coin& y) { return x.units > y.units; });
  const Coin one = coins.back();
  const int last = model.min_alignment_exponent - model.fraction_bits;
  for (int exponent = last - 2 - finest; exponent <= last + 1 - finest; ++exponent) {
    for (const double sign : {1.0, -1.0}) {
      ScaledCase sum(inst, "floor");
      sum.scale_all(exponent).term(0, one.a, sign * one.b).term(1, one.a, sign * one.b);
      double rest = power(-149 - exponent - finest) - 2;
      for (int k = 2; k < inst.stored_k() && rest > 0; ++k) {
        const auto coin =
            std::find_if(coins.begin(), coins.end(), [&](const Coin& x) { return x.units <= rest; });
        sum.term(k, coin->a, sign * coin->b);
        rest -= coin->units;
      }
      if (rest == 0) sum.into(out);
    }
  }
}

}  // namespace

Dots directed_group_dots(const Instruction& instruction, const Datapath& datapath) {
  Dots out;
  for (const int base : bases(instruction, datapath)) {
    scan_last_bit(instruction, datapath, base, out);
    scan_group_exponent(instruction, datapath, base, out);
  }
  scan_bottom(instruction, datapath, out);
  scan_top(instruction, out);
  scan_codes(instruction, datapath, out);
  return out;
}

void add_scaled_dots(const Instruction& instruction, const Datapath& datapath, Dots& out) {
  scan_codes(instruction, datapath, out);
  scan_floor_by_sums(instruction, datapath, out);
  // Two products about the floor, under scales that take them there.
  const FormatSpec a = spec_of(instruction.a);
  for (const int exponent : {datapath.min_alignment_exponent - 10, datapath.min_alignment_exponent - 8,
                             datapath.min_alignment_exponent - 4}) {
    for (int j = -2; j <= 12; ++j) {
      const int large = -149 - exponent,
                small = datapath.min_alignment_exponent - datapath.fraction_bits + j - exponent;
      const int half = std::max(large / 2, a.min_exponent() - a.fraction_bits);
      ScaledCase(instruction, "floor")
          .scale_all(exponent)
          .term(0, power(half), power(large - half))
          .term(1, -power(small / 2), power(small - small / 2))
          .into(out);
    }
  }
}

}  // namespace mmaudit::gen
