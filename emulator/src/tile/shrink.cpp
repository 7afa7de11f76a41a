// Greedy: the first simpler dot product that still fails is taken, until none does.
#include "mmaudit/shrink.hpp"

#include <algorithm>
#include <cstdlib>

#include "mmaudit/arithmetic/block_scale.hpp"

namespace mmaudit {
namespace {

constexpr int kMostRounds = 400;

/// Fewer significand bits, then an exponent nearer to 0, then no sign.
void simpler_numbers(const FormatSpec& format, std::uint64_t bits, std::vector<std::uint64_t>& out) {
  if (bits == 0) return;
  if (format.integer()) {
    for (const std::uint64_t simple : {std::uint64_t{1}, bits & (bits - 1)})
      if (simple < bits) out.push_back(simple);
    return;
  }
  const std::uint64_t fraction_mask = ((std::uint64_t{1} << format.fraction_bits) - 1)
                                      << format.ignored_low_bits;
  const std::uint64_t ignored = (std::uint64_t{1} << format.ignored_low_bits) - 1;
  const std::uint64_t fraction = bits & fraction_mask, rest = bits & ~(fraction_mask | ignored);
  if ((bits & ignored) != 0) out.push_back(bits & ~ignored);
  if (fraction != 0) {
    out.push_back(rest);
    out.push_back(bits & ~(fraction & (~fraction + 1)));  // without its lowest bit
  }
  if (format.exponent_bits == 0) return;
  const int shift = format.fraction_bits + format.ignored_low_bits;
  const auto field = static_cast<int>((bits & format.magnitude_mask()) >> shift);
  const std::uint64_t sign = bits & format.sign_bit();
  const int middle = format.bias, step = middle > field ? 1 : -1;
  for (const int to : {middle, field + (middle - field) / 2, field + step}) {
    if (to == field || to < 0 || std::abs(to - middle) >= std::abs(field - middle)) continue;
    out.push_back(sign | (static_cast<std::uint64_t>(to) << shift) | (bits & (fraction_mask | ignored)));
  }
  if (sign != 0) out.push_back(bits & ~sign);
}

std::vector<DotCase> simpler_dots(const Instruction& instruction, const DotCase& dot) {
  std::vector<DotCase> all;
  const auto with = [&](auto&& change) {
    DotCase simpler = dot;
    change(simpler);
    all.push_back(std::move(simpler));
  };
  // Halves first, then one by one.
  for (std::size_t width = dot.a.size() / 2; width >= 1; width /= 2)
    for (std::size_t at = 0; at + width <= dot.a.size(); at += width) {
      const auto first = dot.a.begin() + static_cast<std::ptrdiff_t>(at);
      if (std::all_of(first, first + static_cast<std::ptrdiff_t>(width), [](auto x) { return x == 0; }))
        continue;
      with([&](DotCase& d) { std::fill_n(d.a.begin() + static_cast<std::ptrdiff_t>(at), width, 0); });
    }
  for (std::size_t k = 0; k < dot.b.size(); ++k)
    if (dot.b[k] != 0) with([&](DotCase& d) { d.b[k] = 0; });
  if (dot.c != 0) with([&](DotCase& d) { d.c = 0; });
  const auto unit = static_cast<std::uint8_t>(one_bits(spec_of(instruction.scale)));
  for (std::size_t block = 0; block < std::max(dot.scale_a.size(), dot.scale_b.size()); ++block)
    for (const auto scales : {&DotCase::scale_a, &DotCase::scale_b})  // either may be left out
      if (block < (dot.*scales).size() && (dot.*scales)[block] != unit)
        with([&](DotCase& d) { (d.*scales)[block] = unit; });
  const auto numbers = [&](const FormatSpec& format, std::uint64_t bits, auto&& put) {
    std::vector<std::uint64_t> simple;
    simpler_numbers(format, bits, simple);
    for (const std::uint64_t one : simple) with([&](DotCase& d) { put(d, one); });
  };
  for (std::size_t k = 0; k < dot.a.size(); ++k)
    numbers(spec_of(instruction.a), dot.a[k], [k](DotCase& d, std::uint64_t bits) { d.a[k] = bits; });
  for (std::size_t k = 0; k < dot.b.size(); ++k)
    numbers(spec_of(instruction.b), dot.b[k], [k](DotCase& d, std::uint64_t bits) { d.b[k] = bits; });
  numbers(spec_of(instruction.c), dot.c, [](DotCase& d, std::uint64_t bits) { d.c = bits; });
  return all;
}

}  // namespace

DotCase shrink_dot(const Instruction& instruction, DotCase dot, const FirstFailing& first_failing) {
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<DotCase> all = simpler_dots(instruction, dot);
    const std::size_t simpler = first_failing(all);
    if (simpler >= all.size()) break;
    dot = std::move(all[simpler]);
  }
  return dot;
}

}  // namespace mmaudit
