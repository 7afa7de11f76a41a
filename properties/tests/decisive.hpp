#pragma once
// Dot products that tell neighbouring rules apart where random inputs hardly ever do. Values, not bits: an
// instruction whose formats lack one of the values skips the case.
#include <cstddef>
#include <optional>
#include <vector>

#include "mmaudit/convert.hpp"
#include "probe.hpp"

namespace mmaudit::test {

struct Term {
  std::size_t k;
  double a, b;
};

struct Decisive {
  std::vector<Term> terms;
  double c;
};

// All terms of a case lie in one step of every row (k mod 4 < 2, or all of them not).
inline const std::vector<Decisive>& decisive_cases() {
  static const std::vector<Decisive> cases = {
      // Subnormal binary16 addend: exponent -14 makes the second product too small.
      {{{0, 0x1p-11, 0x1p-14}, {1, -0x1p-24, 0x1p-17}}, 0x1p-24},
      // A negative half unit of binary16 rounds to zero before -0 is added.
      {{{2, -0x1p-9, 0x1p-16}}, -0.0},
      // A zero with a huge partner must not push small products out.
      {{{0, 0, 0x1p15}, {1, 0x1p-9, 0x3p-16}}, 0},
      {{{0, 0, 0x1p15}, {1, 0x1p-16, 0x1p-9}, {4, 0x1p-16, 0x1p-16}}, 0},
      // A tie of binary16 broken by a bit that only a lower alignment exponent keeps: subnormal operands.
      {{{0, 0x1p15, 0x1p-16}, {1, 0x1p-6, 0x1p-6}, {4, 0x1p-12, 0x1p-13}}, 0},
      {{{0, 0x1p-24, 0x1p15}, {1, 0x1p-10, 0x1p-10}, {2, 0x1p-14, 0x1p-14}}, 0},
      // The same for an e4m3 subnormal, which the widening to binary16 makes normal.
      {{{0, 0x1p-9, 0x1p15}, {1, 1, 0x1p-5}, {4, 0x1p-2, 0x1p-15}}, 0},
      // What is left after cancellation lies below one unit: truncation against rounding; and products whose
      // significand reaches 2 must not raise the exponent.
      {{{0, 256, 256}, {1, -256, 256}, {4, 0x3p-6, 0x1p-5}}, 0},
      {{{0, 384, 384}, {1, -384, 384}, {4, 0x1p-4, 0x1p-5}}, 0},
  };
  return cases;
}

/// `value` in `format`; nullopt when the format does not hold it.
inline std::optional<std::uint64_t> exactly(double value, Format format) {
  const FormatSpec spec = spec_of(format);
  const std::uint64_t bits = encode_nearest_even(value, spec);
  if (decode_value(bits, spec) != value) return std::nullopt;
  return bits;
}

inline std::optional<OneDot> decisive_dot(const Instruction& instruction, const Decisive& from, bool swap) {
  OneDot one;
  one.a.assign(static_cast<std::size_t>(instruction.stored_k()), 0);
  one.b.assign(static_cast<std::size_t>(instruction.k), 0);
  const Sparsity sparsity = sparsity_of(instruction);
  if (is_sparse(instruction.op)) one.metadata.resize(one.a.size());
  for (std::size_t k = 0; k < one.metadata.size(); k += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, static_cast<int>(k) % patterns(sparsity), &one.metadata[k]);
  for (const Term& term : from.terms) {
    const auto a = exactly(swap ? term.b : term.a, instruction.a);
    const auto b = exactly(swap ? term.a : term.b, instruction.b);
    if (!a || !b || term.k >= one.a.size()) return std::nullopt;
    one.a[term.k] = *a;
    const bool sparse = is_sparse(instruction.op);
    const int met =
        sparse ? selected_k(sparsity, MetadataRule::selected, one.metadata.data(), static_cast<int>(term.k))
               : static_cast<int>(term.k);
    one.b[static_cast<std::size_t>(met)] = *b;
  }
  const auto c = exactly(from.c, instruction.c);
  if (!c) return std::nullopt;
  one.c = *c;
  return one;
}

/// Every case that the instruction can express, as written and with A and B exchanged.
inline std::vector<OneDot> decisive_dots(const Instruction& instruction) {
  std::vector<OneDot> dots;
  for (const Decisive& one : decisive_cases()) {
    for (const bool swap : {false, true}) {
      if (const auto dot = decisive_dot(instruction, one, swap)) dots.push_back(*dot);
    }
  }
  return dots;
}

}  // namespace mmaudit::test
