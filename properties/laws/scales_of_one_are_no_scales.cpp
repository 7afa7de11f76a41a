
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// The instruction of the same shape and formats without scales, computed by the same numbers and rules.
std::optional<Instruction> unscaled_twin(const Subject& subject) {
  const Instruction& inst = subject.instruction;
  for (Instruction one : kInstructions) {
    one = with_shape(one, inst.n);
    if (one.scale != Format::none || one.op != inst.op || one.m != inst.m || one.n != inst.n ||
        one.k != inst.k || one.a != inst.a || one.b != inst.b || one.c != inst.c || one.d != inst.d)
      continue;
    const DatapathEntry* entry = find_datapath(*subject.architecture, one);
    if (entry != nullptr && entry->datapath == subject.datapath) return one;
  }
  return std::nullopt;
}

std::string why_not(const Subject& subject) {
  return unscaled_twin(subject) ? "" : "no instruction without scales has its formats and rules";
}

/// Numbers of few exponents, specials among them; every scale stays 1.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const auto element = [&](const FormatSpec& format) {
    if (random.one_in(200)) return format.magnitude_mask();
    return random_number(random, format, random.between(-6, 6));
  };
  for (std::uint64_t& x : tile.a) x = element(subject.a());
  for (std::uint64_t& x : tile.b) x = element(subject.b());
  for (std::uint64_t& x : tile.c) x = random_number(random, subject.c(), random.between(-20, 12));
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other(*unscaled_twin(subject), tile.modifiers);
  other.a = tile.a;
  other.b = tile.b;
  other.c = tile.c;
  other.metadata = tile.metadata;
  return {other};
}

}  // namespace

const Law kScalesOfOneAreNoScales = {
    .order = 290,
    .statement =
        "Where every scale is 1, D has the bits of the instruction without scales and with the same rules.",
    .source = "numerics.md, block-scaled kinds; MMA-Sim",
    .why_not = why_not,
    .fill = fill,
    .related = related,
    .judge = same_as_related,
    .scales = Scales::own};

}  // namespace mmaudit::laws
