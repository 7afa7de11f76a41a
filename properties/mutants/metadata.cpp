// Wrong readings of the metadata of a sparse instruction.
#include "mutant_list.hpp"

namespace mmaudit::mutants {
namespace {

void add_to(MutantList& list) {
  if (!is_sparse(list.instruction.op)) return;
  const auto add = [&](MetadataRule rule, std::string_view change) {
    list.add("metadata", std::string(change), [&](auto& x) { x.metadata = rule; });
  };
  add(MetadataRule::ignored, "ignored: the first of every group");
  if (sparsity_of(list.instruction).kept > 1) add(MetadataRule::exchanged, "positions of a group exchanged");
  add(MetadataRule::mirrored, "positions counted from the end of the group");
  const FormatSpec b = spec_of(list.instruction.b);
  if (b.integer()) return;
  list.add(
      "metadata", "elements that are not selected are multiplied by zero",
      [](auto& x) { x.metadata = MetadataRule::whole_group; },
      b.max_finite_bits() == b.magnitude_mask() ? "no element of B is NaN or infinite" : "");
}

}  // namespace

const MutantGroup kMetadata = {70, add_to};

}  // namespace mmaudit::mutants
