#pragma once
// The feature tests of FTTN (Li et al., arXiv 2403.00232), run on a datapath.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tile.hpp"

namespace mmaudit::test {

struct Pair {
  double a, b;
};

inline double p2(int exponent) { return std::ldexp(1.0, exponent); }

/// What FTTN's tests say of a unit, from dot products of 16 products alone. Inputs and decisions: its public
/// code (fp16in.cpp and others); p is the precision of c.
class FttnTests {
 public:
  FttnTests(const Instruction& instruction, const Datapath& datapath)
      : instruction_(instruction), datapath_(datapath), p_(instruction.c == Format::f64 ? 53 : 24) {}

  [[nodiscard]] std::string features() const {
    const double three_quarters = p2(1 - p_) + p2(-p_);  // of the unit of 2
    const double half = p2(-p_);                         // of the unit of 1
    std::string text = subnormals() ? "subnormals" : "no subnormals";
    const bool guard = dot(-(1 - half), {{1, 1}}) == half;
    const auto rounds = [&](double up) {  // 2 and 3/4 of its unit, by a product and by c, of either sign
      return dot(0, {small(three_quarters), {1, 2}}) == 2 + up &&
             dot(0, {small(-three_quarters), {1, -2}}) == -2 - up &&
             dot(2, {small(three_quarters)}) == 2 + up && dot(-three_quarters, {{1, -2}}) == -2 - up;
    };
    const bool truncates = rounds(0), nearest = rounds(p2(2 - p_));
    text += truncates ? ", truncated" : nearest ? ", nearest" : ", ?";
    const double below = 1.125 - p2(1 - p_);
    if (!guard)
      text += ", 0 bits";
    else if (truncates)
      text += dot(-(0.125 + half / 2), {{1, 1.25}}) == below ? ", 2+ bits" : ", 1 bit";
    else
      text += dot(-(0.125 + half + half / 4), {{1, 1.25}}) == below ? ", 3 bits" : ", 1+ bits";
    if (dot(1, {small(half)}) == 1 && nearest) text += ", ties to even";
    if (dot(half + half / 8, {{1, 1}}) == 1 + 2 * half) text += ", sticky";
    return text + ", width " + std::to_string(width(half));
  }

 private:
  /// value = 2^-14 times the rest, as binary16 needs it; 2^-43 for f64, which takes any.
  [[nodiscard]] Pair small(double value) const { return {p2(10 - p_), value / p2(10 - p_)}; }

  [[nodiscard]] double dot(double c, const std::vector<Pair>& products) const {
    for (std::size_t first = 0; first < 16; first += static_cast<std::size_t>(instruction_.k)) {
      Dot step(instruction_);
      for (std::size_t i = 0; i < static_cast<std::size_t>(instruction_.k); ++i)
        if (first + i < products.size())
          step.at(static_cast<int>(i), products[first + i].a, products[first + i].b);
      c = decode_value(step.c(c).bits(datapath_), spec_of(instruction_.d));
    }
    return c;
  }

  [[nodiscard]] bool subnormals() const {
    const FormatSpec in = spec_of(instruction_.a), out = spec_of(instruction_.c);
    const double least = decode_value(std::uint64_t{1} << in.ignored_low_bits, in);
    const double normal = p2(1 - in.bias), c = p2(-out.bias);  // c: half of the least normal number
    return dot(0, {{least, 1}}) == least && dot(0, {{1, least}}) == least && dot(c, {}) == c &&
           (in.bias != out.bias || dot(0, {{normal, 0.5}}) == c);
  }

  /// How many products, from the first on, are added before a rounding that loses half a unit of 1.
  [[nodiscard]] int width(double half) const {
    const double both = dot(1, {small(half), small(half)});
    const bool any_order =
        dot(half, {{1, 1}, small(half)}) == both && dot(half, {small(half), {1, 1}}) == both;
    // Without a guard bit every half is lost beside 1. Then c is 1 - half, an input that is not FTTN's.
    const bool guard = dot(-(1 - half), {{1, 1}}) == half;
    if (guard && (!any_order || both == 1)) return 1;
    const std::size_t begin = guard ? 1 : 2;
    for (std::size_t at = begin; at < 16; ++at) {
      std::vector<Pair> products(at + 1, Pair{0, 0});
      products[0] = products[begin - 1] = products[at] = small(half);
      if (dot(guard ? 1 : 1 - half, products) != 1 + 2 * half) return static_cast<int>(at);
    }
    return 16;
  }

  Instruction instruction_;
  Datapath datapath_;
  int p_;
};

}  // namespace mmaudit::test
