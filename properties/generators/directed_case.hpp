#pragma once
// Pieces that directed cases are made of, and the two halves of the cases of fused datapaths.
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/generators/tiles.hpp"

namespace mmaudit::gen {

/// A spec, and the exponent that the scales of every block bring together: exponents in the cases below are
/// exponents of whole products, and elements of few bits reach them through their scales.
struct Setting : DotSpec {
  explicit Setting(const DotSpec& spec, int shift = 0) : DotSpec(spec), scale_shift(shift) {}
  int scale_shift;
  /// The byte that brings A's share (B's is the rest).
  [[nodiscard]] std::uint8_t scale_byte(bool of_a) const {
    const int half = scale_shift / 2;
    const int exponent = of_a ? half : scale_shift - half;
    return static_cast<std::uint8_t>((exponent + scale.bias) << scale.fraction_bits);
  }
};

/// Builds one case; a term the formats cannot express makes the case inapplicable and it is dropped.
class Case {
 public:
  Case(const Setting& spec, std::string_view question);

  /// a_k * b_k from texts such as "1.5", "0x7fc1", "max".
  Case& term(int k, std::string_view a, std::string_view b);
  /// a_k * b_k = +-2^exponent, from factors as normal as the formats allow.
  Case& product(int k, int exponent, bool negative = false);
  /// The same at k = 0, 1, ..., all of one sign.
  Case& products(std::initializer_list<int> exponents, bool negative = false);
  /// a_k * b_k = +-1.5 * 2^exponent.
  Case& product_and_half(int k, int exponent, bool negative = false);
  Case& addend(std::string_view text);
  Case& addend_power(int exponent, bool negative = false);

  void into(std::vector<DirectedDot>& out) const;

 private:
  Case& set(int k, std::uint64_t a, std::uint64_t b);

  Setting spec_;
  DirectedDot dot_;
  bool applies_ = true;
};

using Dots = std::vector<DirectedDot>;

/// Where a datapath's rules become visible.
struct Edges {
  int f, floor;
  int kept;            // fraction bits of the result
  int least;           // exponent of the least positive result
  int addend_minimum;  // exponent of c's subnormals
};

inline Edges edges_of(const Setting& spec) {
  const OutputRule& output = spec.datapath.output;
  return {spec.datapath.fraction_bits, spec.datapath.min_alignment_exponent, output.fraction_bits,
          spec.step.output.min_exponent() - output.fraction_bits, spec.step.addend.min_exponent()};
}

/// A position that falls into the same step as 0 and 1 whatever the segments.
inline int third(const Setting& spec) { return spec.segments == 2 ? 4 : 2; }

/// Cases of values rather than of places: the ends of the range, infinities and NaN, c, ignored bits.
void add_extremes(const Setting& spec, Dots& out);
void add_specials(const Setting& spec, Dots& out);
void add_addends(const Setting& spec, Dots& out);
void add_second_rounding(const Setting& spec, Dots& out);
void add_ignored_bits(const Setting& spec, Dots& out);
/// binary64: order of k, fusion, subnormals.
void add_binary64(const Setting& spec, Dots& out);

/// Every directed case of integers and single bits, and of a datapath that sums groups.
Dots directed_integer_dots(const Instruction& instruction);
Dots directed_group_dots(const Instruction& instruction, const Datapath& datapath);
/// Where scales multiply elements: the cases that elements alone can't express.
void add_scaled_dots(const Instruction& instruction, const Datapath& datapath, Dots& out);

}  // namespace mmaudit::gen
