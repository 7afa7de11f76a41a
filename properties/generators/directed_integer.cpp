// Directed cases of integers and single bits: ends of the ranges, signs, wrap and clamp.

#include "directed_case.hpp"

namespace mmaudit::gen {
namespace {

constexpr std::uint64_t kMost = 0x7FFFFFFF, kLeast = 0x80000000, kMinusOne = 0xFFFFFFFF;

/// Bits of the ends of a format.
struct Ends {
  std::uint64_t low, high, minus_one;
  bool has_sign;
};

Ends ends_of(Format of) {
  const FormatSpec format = spec_of(of);
  const std::uint64_t top = std::uint64_t{1} << (format.value_bits() - 1), ones = top | (top - 1);
  const bool has_sign = format.encoding == Encoding::signed_integer;
  return {has_sign ? top : 0, has_sign ? top - 1 : ones, ones, has_sign};
}

class Cases {
 public:
  explicit Cases(const Instruction& instruction)
      : depth_(static_cast<std::size_t>(instruction.stored_k())),
        a_(ends_of(instruction.a)),
        b_(ends_of(instruction.b)),
        bits_(instruction.multiply != Multiply::product) {}

  void ranges();
  void signs();
  void places();
  void saturation();
  void bit_patterns();
  [[nodiscard]] Dots take() { return std::move(out_); }

 private:
  DirectedDot& add(const char* question, std::uint64_t c) {
    DirectedDot& dot = out_.emplace_back();
    dot.question = question;
    dot.a.resize(depth_);
    dot.b.resize(depth_);
    dot.c = c;
    return dot;
  }
  static DirectedDot& set(DirectedDot& dot, std::size_t k, std::uint64_t a, std::uint64_t b) {
    dot.a[k] = a;
    dot.b[k] = b;
    return dot;
  }
  /// A product that raises the sum as much as one can, and one that lowers it.
  void up(DirectedDot& dot, std::size_t k) const { set(dot, k, a_.high, b_.high); }
  void down(DirectedDot& dot, std::size_t k) const {
    if (a_.has_sign) {
      set(dot, k, a_.low, b_.high);
    } else if (b_.has_sign) {
      set(dot, k, a_.high, b_.low);
    }
  }
  [[nodiscard]] bool goes_down() const { return a_.has_sign || b_.has_sign; }

  std::size_t depth_;
  Ends a_, b_;
  bool bits_;
  Dots out_;
};

void Cases::ranges() {
  for (const std::uint64_t a : {a_.low, a_.high})
    for (const std::uint64_t b : {b_.low, b_.high})
      for (const std::uint64_t c : {std::uint64_t{0}, kMost, kLeast}) {
        DirectedDot& dot = add("ends of the range", c);
        for (std::size_t k = 0; k < depth_; ++k) set(dot, k, a, b);
      }
  for (const std::uint64_t c : {std::uint64_t{0}, kMost, kLeast, kMinusOne}) add("c alone", c);
  // One past either end.
  set(add("wrap", kMost), 0, 1, 1);
  set(add("wrap", kMost), depth_ - 1, 1, bits_ ? 0 : 1);
  if (a_.has_sign) set(add("wrap", kLeast), 0, a_.minus_one, 1);
  if (b_.has_sign) set(add("wrap", kLeast), 0, 1, b_.minus_one);
  // Carries into every byte of the sum.
  for (const std::uint64_t c : {0xFFULL, 0xFFFFULL, 0xFFFFFFULL, 0xFFFFFFFFULL})
    set(add("carry", c), 1, 1, 1);
}

void Cases::signs() {
  for (const bool in_a : {true, false}) {
    const std::uint64_t bits = in_a ? a_.minus_one : b_.minus_one;
    set(add("sign of an operand", 0), 0, in_a ? bits : 1, in_a ? 1 : bits);
    const std::uint64_t top = bits - bits / 2;
    set(add("sign of an operand", 5), depth_ / 2, in_a ? top : 1, in_a ? 1 : top);
  }
  set(add("sign of an operand", 0), 0, a_.minus_one, b_.minus_one);
}

/// Different values at different k: an element that is swapped or dropped shows.
void Cases::places() {
  for (const int twist : {1, 3}) {
    DirectedDot& dot = add("place of k", static_cast<std::uint64_t>(twist));
    for (std::size_t k = 0; k < depth_; ++k) {
      const std::uint64_t x = k * static_cast<std::uint64_t>(twist) + 1;
      set(dot, k, x & a_.minus_one, (x * 5 + k / 8) & b_.minus_one);
    }
  }
}

/// Products that leave the range and come back. A clamp before the end loses what came back; `block` is how
/// many products may pass before it.
void Cases::saturation() {
  if (bits_) return;
  for (std::size_t block = 1; block < depth_; block *= 2) {
    DirectedDot& high = add("saturation point", kMost);
    up(high, 0);
    if (!goes_down()) {
      up(high, block);
      continue;
    }
    down(high, block);
    DirectedDot& low = add("saturation point", kLeast);
    down(low, block - 1);
    up(low, depth_ - 1);
    DirectedDot& back = add("saturation point", kMost - 1);
    for (std::size_t k = 0; k < depth_; ++k) k < block ? up(back, k) : down(back, k);
    // The other way about, against orders other than ascending.
    DirectedDot& reversed = add("saturation point", kMost);
    down(reversed, 0);
    up(reversed, block);
  }
  DirectedDot& whole = add("saturation point", kMost);
  for (std::size_t k = 0; k < depth_; ++k) up(whole, k);
  if (!goes_down()) return;
  DirectedDot& least = add("saturation point", kLeast);
  for (std::size_t k = 0; k < depth_; ++k) down(least, k);
}

void Cases::bit_patterns() {
  if (!bits_) return;
  const auto fill = [&](auto a, auto b) {
    DirectedDot& dot = add("bit operation", 0);
    for (std::size_t k = 0; k < depth_; ++k) set(dot, k, a(k) ? 1 : 0, b(k) ? 1 : 0);
  };
  const auto none = [](std::size_t) { return false; };
  const auto all = [](std::size_t) { return true; };
  for (std::size_t period = 1; period < depth_; period *= 2) {
    const auto alternating = [=](std::size_t k) { return (k / period) % 2 == 0; };
    fill(alternating, all);
    fill(alternating, none);
    fill(none, alternating);
    fill(alternating, alternating);
  }
}

}  // namespace

Dots directed_integer_dots(const Instruction& instruction) {
  Cases cases(instruction);
  cases.ranges();
  cases.signs();
  cases.places();
  cases.saturation();
  cases.bit_patterns();
  return cases.take();
}

}  // namespace mmaudit::gen
