// The model against the reference. The first byte picks a kind of row, the next two one of its rows on some
// architecture with an instruction, the next a wrong model beside it (0: the row itself), the rest a tile.
#include <array>
#include <vector>

#include "against_reference.hpp"
#include "mmaudit/arithmetic/staged_dot.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/mutants/mutants.hpp"

namespace mmaudit::fuzz {
namespace {

enum class RowKind : std::size_t {
  dense,
  dense_integer,
  sparse,
  sparse_integer,
  scaled_elements,
  scaled_groups,
  binary64
};
constexpr std::size_t kRowKinds = 7;

struct Served {
  Instruction instruction;
  Datapath datapath;
  std::vector<Datapath> beside{};  ///< wrong models, made when first asked for
};

RowKind kind_of(const Served& one) {
  const bool sparse = is_sparse(one.instruction.op);
  if (one.datapath.arithmetic == Arithmetic::integer)
    return sparse ? RowKind::sparse_integer : RowKind::dense_integer;
  if (one.datapath.arithmetic == Arithmetic::fma_chain) return RowKind::binary64;
  if (one.datapath.arithmetic == Arithmetic::grouped_dot_add) return RowKind::scaled_groups;
  if (one.instruction.scale != Format::none) return RowKind::scaled_elements;
  return sparse ? RowKind::sparse : RowKind::dense;
}

/// Every row of every architecture with every instruction that it serves, by kind.
using ServedByKind = std::array<std::vector<Served>, kRowKinds>;
ServedByKind all_served() {
  ServedByKind all;
  for (const Architecture& architecture : architectures())
    for (Instruction instruction : kInstructions) {
      instruction = with_shape(instruction, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(architecture, instruction);
      // staged_test.cpp has the staged ones: no mutant stands beside them.
      if (entry == nullptr || is_staged(entry->datapath.arithmetic)) continue;
      const Served one{instruction, entry->datapath};
      all.at(static_cast<std::size_t>(kind_of(one))).push_back(one);
    }
  for (const std::vector<Served>& some : all)
    if (some.empty()) fail("a kind of row that no architecture has");
  return all;
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  static ServedByKind served = all_served();
  std::vector<Served>& some = served.at(bytes.byte() % kRowKinds);
  Served& one = some[bytes.word(2) % some.size()];
  Datapath datapath = one.datapath;
  if (const unsigned wrong = bytes.byte(); wrong != 0) {
    if (one.beside.empty())
      for (const Mutant& mutant : mutants_of(one.instruction, one.datapath))
        one.beside.push_back(mutant.datapath);
    if (!one.beside.empty()) datapath = one.beside[(wrong - 1) % one.beside.size()];
  }
  hold_to_reference(one.instruction, datapath, bytes);
}
