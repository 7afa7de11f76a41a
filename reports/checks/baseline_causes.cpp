// Why an instruction of a baseline changed: the one rule or number of its datapath that gives the other bits.
#include <fmt/format.h>

#include <algorithm>

#include "baseline.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/mutants/mutants.hpp"

namespace mmaudit::checks {
namespace {

/// The inputs of one class with the bits of both files.
struct Again {
  TileBatch inputs;
  const std::vector<std::byte>*old_bits, *new_bits;
};

/// One wrong datapath, in words.
struct Candidate {
  std::string words;
  Datapath datapath;
};

/// Farther than any mutant: a datapath of a few bits more or less.
constexpr int kFarthestF = 12;

std::vector<Candidate> candidates_of(const Architecture& own, const Instruction& instruction,
                                     const Datapath& datapath) {
  std::vector<Candidate> out;
  for (const Mutant& mutant : mutants_of(instruction, datapath))
    if (mutant.invisible.empty()) out.push_back({mutant.rule + " " + mutant.change, mutant.datapath});
  for (int change = -kFarthestF; change <= kFarthestF; ++change) {
    const int bits = datapath.fraction_bits + change;
    if (change == 0 || bits < 0 || bits > 50 || datapath.arithmetic == Arithmetic::integer ||
        datapath.arithmetic == Arithmetic::fma_chain)
      continue;
    Datapath other = datapath;
    other.fraction_bits = static_cast<std::int16_t>(bits);
    out.push_back({fmt::format("F {} -> {}", datapath.fraction_bits, bits), other});
  }
  for (const Architecture& each : architectures())
    if (const DatapathEntry* entry = find_datapath(each, instruction);
        entry != nullptr && each.name != own.name && !(entry->datapath == datapath))
      out.push_back({fmt::format("the datapath of {}", each.name), entry->datapath});
  return out;
}

/// Whether `datapath` gives the bits of one file in every class.
bool gives(const Instruction& instruction, const Datapath& datapath, std::vector<Again>& classes,
           const std::vector<std::byte>* Again::*bits) {
  return std::all_of(classes.begin(), classes.end(), [&](Again& each) {
    emulate(instruction, datapath, each.inputs.view());
    return each.inputs.d == *(each.*bits);
  });
}

BaselineCause unexplained(std::string why) { return {"unexplained: " + std::move(why), false, {}}; }

}  // namespace

BaselineCause cause_of(const Baseline& of, const BaselineInstruction& before,
                       const BaselineInstruction& after) {
  const Instruction& instruction = before.instruction;
  std::vector<Again> classes;
  // Inputs of a class may depend on the datapath: inputs of another model stay out, the others can still
  // tell.
  const char* missing = "no input class is in both files";
  bool changed = false;
  for (const BaselineFamily& was : before.families) {
    const BaselineFamily* is = find_where(after.families, &BaselineFamily::family, was.family);
    if (is == nullptr) continue;
    if (was.inputs != is->inputs) {
      missing = "the inputs differ where bits may have changed";
      continue;
    }
    std::optional<TileBatch> inputs = inputs_again(of, instruction, was);
    if (!inputs) {
      missing = "this mmaudit makes other inputs than these files have";
      continue;
    }
    changed = changed || was.hash != is->hash;
    // A changed class first: most candidates fall there.
    classes.insert(was.hash == is->hash ? classes.end() : classes.begin(),
                   Again{std::move(*inputs), &was.d, &is->d});
  }
  if (!changed) return unexplained(missing);
  const Architecture& own = *find_architecture(of.architecture);
  const Datapath& right = find_datapath(own, instruction)->datapath;
  const bool old_is_model = gives(instruction, right, classes, &Again::old_bits);
  if (!old_is_model && !gives(instruction, right, classes, &Again::new_bits))
    return unexplained("neither OLD nor NEW is the model");
  const char* const model = old_is_model ? "OLD" : "NEW";
  const char* const other = old_is_model ? "NEW" : "OLD";
  for (const Candidate& each : candidates_of(own, instruction, right))
    if (gives(instruction, each.datapath, classes, old_is_model ? &Again::new_bits : &Again::old_bits))
      return {fmt::format("{} is the model with {}, {} is the model", other, each.words, model), true, {}};
  return unexplained(fmt::format("{} is the model, no one rule changed gives {}", model, other));
}

}  // namespace mmaudit::checks
