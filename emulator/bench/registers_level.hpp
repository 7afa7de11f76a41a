#pragma once
// What registers.hpp promises, for the level whose width MMAUDIT_FAST_BYTES says.
// NOLINTBEGIN(misc-definitions-in-headers)
#include "../src/fast/compiled.hpp"
#include "registers.hpp"

namespace mmaudit::fast {
namespace {

/// x, of which the compiler knows nothing, and from now on another one than before. Takes no instruction.
template <typename Vector>
[[gnu::always_inline]] inline Vector unknown(Vector& x) {
  asm volatile("" : "+v"(x));
  return x;
}
template <typename Vector>
[[gnu::always_inline]] inline void use(Vector x) {
  asm volatile("" : : "v"(x));
}

#if defined(__AVX512F__)
constexpr int kRegisterRows = 4;  // as many as the kernel takes at once
#else
constexpr int kRegisterRows = 2;
#endif

/// The products of one word of exponents, and that word of the next step's.
template <typename StepKind>
[[gnu::always_inline]] inline void register_products(Floats& operand, Floats other,
                                                     const Running<kRegisterRows, StepKind::kSide>& running,
                                                     Counts (&sum)[kRegisterRows][2],
                                                     Shorts (&most)[kRegisterRows]) {
  for (auto& x : most) {
    const Floats exponents = unknown(operand);
    if constexpr (StepKind::kPairs) {
      x = bits<Shorts>(max(bits<Bytes>(x), subtract_to_zero(bits<Bytes>(exponents), bits<Bytes>(other))));
    } else {
      x = max(x, static_cast<Shorts>(bits<Shorts>(exponents) + bits<Shorts>(other)));
    }
  }
  for (int k = 0; k < (StepKind::kPairs ? 2 : 1); ++k) {
    for (int r = 0; r < kRegisterRows; ++r) {
      for (int h = 0; h < 2; ++h) {
        sum[r][h] += bits<Counts>(truncate((unknown(operand) * other) * running.scale[r][h]));
      }
    }
  }
}

/// The end of a step and the beginning of the next one, of operands that no product waits for.
template <typename StepKind, bool Closes>
[[gnu::always_inline]] inline void register_end(Floats& operand, Shorts (&most)[kRegisterRows],
                                                const VectorRules& rules,
                                                Running<kRegisterRows, StepKind::kSide>& end,
                                                Floats& largest) {
  typename StepKind::template MaximaOf<kRegisterRows> coming(rules);
  for (int r = 0; r < kRegisterRows; ++r) {
    unknown(most[r]);
    coming.row[r] = most[r];
    for (int h = 0; h < 2; ++h) {
      end.total[r][h] = bits<Counts>(unknown(operand));
      end.scale[r][h] = unknown(operand);
      Floats x = rounded<StepKind>(end, r, h, largest, rules);
      if constexpr (StepKind::kAddendLast && Closes) {
        use(add_numbers<StepKind::kHow>(unknown(operand), kept<StepKind::kHow>(x), rules));
        x = Floats{};
      }
      begin_one<StepKind::kHow>(end, coming, r, h, Operands{}, x, rules);
      use(end.total[r][h]);
      use(end.scale[r][h]);
    }
  }
}

template <typename StepKind>
[[gnu::noinline]] double register_steps(const Rules& given, int count, int per_instruction, int steps) {
  const FloatMode mode(StepKind::kModeTowardZero);
  VectorRules rules(given);
  Floats operand = splat(1.0F), other = splat(1.0F), largest = {};
  unknown(other);
  Running<kRegisterRows, StepKind::kSide> running, end;
  end.failed = end.largest = Words{};
  Counts sum[kRegisterRows][2];
  Shorts most[kRegisterRows] = {};
  for (int r = 0; r < kRegisterRows; ++r) {
    for (int h = 0; h < 2; ++h) {
      running.scale[r][h] = unknown(operand);
      sum[r][h] = Counts{};
    }
  }
  const int words = StepKind::words(count);
  int left = per_instruction;
  for (int step = 0; step < steps; ++step) {
    rules.leave_registers();
    for (int i = 0; i < words; ++i) register_products<StepKind>(operand, other, running, sum, most);
    if (StepKind::kAddendLast && --left == 0) {
      left = per_instruction;
      register_end<StepKind, true>(operand, most, rules, end, largest);
    } else {
      register_end<StepKind, false>(operand, most, rules, end, largest);
    }
  }
  for (const auto& row : sum)
    for (const Counts& x : row) use(x);
  use(largest);
  use(end.largest);
  return static_cast<double>(steps) * count * kRegisterRows * kGroupColumns;
}

double in_registers(const Rules& rules, int count, int per_instruction, int steps) {
  double done = 0;
  const auto run = [&](auto kind) {
    if constexpr (decltype(kind)::kSide == Side::none)
      done = register_steps<decltype(kind)>(rules, count, per_instruction, steps);
  };
  with_compiled(rules, run);
  return done;
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
