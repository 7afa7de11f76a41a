#pragma once
// Which compilation of the kernel serves some rules. A part of the level's one source, not a header of
// declarations. NOLINTBEGIN(misc-definitions-in-headers)
#include "step.hpp"

namespace mmaudit::fast {
namespace {

template <Rounds How, bool AddendLast, Side What, typename Visit>
void with_fitting(const Rules& rules, const Visit& visit) {
  if constexpr (How != Rounds::nearest || !kHasBinary16) {  // else no hardware has it
    if constexpr (!to_nearest(How) && What == Side::none) {
      if (rules.roomy && rules.pairs) return visit(Compiled<How, AddendLast, Fits::always, true, What>{});
      if (rules.roomy) return visit(Compiled<How, AddendLast, Fits::always, false, What>{});
    }
    if (rules.pairs) return visit(Compiled<How, AddendLast, Fits::almost, true, What>{});
    if (rules.group >= rules.block) return visit(Compiled<How, AddendLast, Fits::almost, false, What>{});
  }
  visit(Compiled<How, AddendLast, Fits::groups, false, What>{});
}

template <Rounds How, Side What, typename Visit>
void with_rounding(const Rules& rules, const Visit& visit) {
  constexpr Rounds kHere = How == Rounds::toward_zero ? Rounds::toward_zero_here : How;
  if (rules.addend_last) return with_fitting<kHere, true, What>(rules, visit);
  with_fitting<How, false, What>(rules, visit);
}

template <Side What, typename Visit>
void with_side(const Rules& rules, const Visit& visit) {
  if constexpr (What == Side::scaled) return with_fitting<Rounds::toward_zero, false, What>(rules, visit);
  if (rules.nearest_bits == 0) return with_rounding<Rounds::toward_zero, What>(rules, visit);
  if constexpr (kHasBinary16)
    if (rules.binary16) return with_rounding<Rounds::binary16, What>(rules, visit);
  with_rounding<Rounds::nearest, What>(rules, visit);
}

/// Calls visit(Compiled<...>{}).
template <typename Visit>
void with_compiled(const Rules& rules, const Visit& visit) {
  if (rules.scaled) return with_side<Side::scaled>(rules, visit);
  if (rules.sparse) return with_side<Side::sparse>(rules, visit);
  with_side<Side::none>(rules, visit);
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
