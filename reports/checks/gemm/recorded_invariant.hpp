#pragma once
// Over which M rows keep their bits, by recorded decisions alone: of a layer, of a whole network.
#include <cstdint>
#include <string>
#include <vector>

#include "gemm/decisions.hpp"

namespace mmaudit::checks {

/// A plan holds for every M of it.
struct RecordedRange {
  std::uint64_t first = 0, last = 0;
  std::string plan;   ///< in words, or why it is unknown
  bool known = true;  ///< else a row may change at every new choice
};
struct RecordedLayer {
  std::string name, interface;
  GemmProblem problem;
  std::string source;  ///< DecidedPlan's; empty: not recorded
  std::string why;     ///< it is not
  std::vector<RecordedRange> ranges;
  std::string cost;  ///< of pin_of()'s algorithm, in words; empty: not recorded
};
/// The ranges of one product, whose m means nothing.
RecordedLayer recorded_layer(const corpus::DecisionFile& file, const GemmProblem& problem);

struct RecordedInvariant {
  std::string title, gpu, library;
  std::uint64_t first_m = 1, last_m = 8192;
  std::vector<RecordedLayer> layers;
};
/// What: the products of a network as torch.nn.functional.linear asks for them in `type`, of FP8 as
/// torch._scaled_mm does. Products that are the same are one layer. `fused`: qkv and gate_up as one product.
RecordedInvariant recorded_network(const corpus::DecisionFile& file,
                                   const std::vector<corpus::NetworkLayer>& layers, Format type,
                                   bool fast_accum, bool fused);

/// M at which a row of some layer changes its bits, or may: ascending, without the first M.
std::vector<std::uint64_t> changes_of(const RecordedInvariant& result);

/// The plan that most M take, and an M whose algorithm gives it: the first of its longest range.
struct RecordedPin {
  std::uint64_t m = 0, held = 0;  ///< held: M that have this plan without a pin
  std::string plan;               ///< empty: no known plan
};
RecordedPin pin_of(const RecordedLayer& layer);
/// What: gives each layer that was recorded as torch.mm asks the cost of pin_of()'s algorithm, from a table
/// of costs (corpus/decisions/NAME.pins.csv; lines with # say its source). Errors: InputError.
void take_costs(RecordedInvariant& result, std::string_view csv, const std::string& file);

/// Nothing is judged: passed where a layer was recorded. The result has to outlive it.
report::Report report_of(const RecordedInvariant& result);

}  // namespace mmaudit::checks
