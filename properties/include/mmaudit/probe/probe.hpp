#pragma once
// An instruction that no model describes, turned into a datapath by asking it: directed and random dot
// products, a search over the rules of the model, and a claim per rule with the dot product that proves it.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/backend.hpp"
#include "mmaudit/dot_case.hpp"

namespace mmaudit::probe {

/// One dot product and D as the probed instruction gave it.
struct Fact {
  DotCase dot;
  std::uint64_t d = 0;
};

/// Another value of a rule, every other rule as found.
struct Alternative {
  std::string value;
  /// The simplest answer that contradicts it; none: it gives the bits of every answer.
  std::optional<Fact> witness{};
  std::uint64_t expected = 0;  ///< D of the witness if the rule had this value
  /// Of one that nothing contradicts: why no input can, or the second rule that has to change with it.
  std::string reason{};
};

/// What the answers say about one rule.
struct Claim {
  std::string rule;   ///< its name in the JSON of a datapath
  std::string value;  ///< as found
  std::vector<Alternative> alternatives;

  /// Every other value is contradicted.
  [[nodiscard]] bool decided() const;
};

struct Finding {
  Instruction instruction;
  Datapath datapath;
  std::vector<Claim> claims;          ///< of the rules that the instruction reads
  std::vector<std::string> steps;     ///< the k of each step, "0-15"; empty for integers
  std::uint64_t answers = 0;          ///< distinct dot products that the claims rest on
  std::uint64_t contradictions = 0;   ///< answers that the datapath does not give
  std::uint64_t verified = 0;         ///< random dot products compared at the end
  std::uint64_t mismatches = 0;       ///< of these
  std::optional<Mismatch> example{};  ///< the simplest of contradictions and mismatches

  /// The datapath gives the bits of every answer and of every random dot product.
  [[nodiscard]] bool explained() const { return contradictions + mismatches == 0 && answers != 0; }
};

struct Options {
  std::uint64_t seed = 0;
  std::uint64_t dots = 10'000'000;  ///< random ones to verify with, at least
  std::vector<Fact> facts{};        ///< answers that are known; where `device` has no `run`, all there are
  std::function<void(const std::string&)> progress{};
};

/// What: the datapath of `instruction` as `device` computes it. No datapath of `architectures()` is read: the
/// search starts from the formats alone. Asks for whole tiles, about 10^5 dot products before `dots`. Of a
/// device without `run` (a recording) options.facts alone are known.
/// Errors: what `device` throws. Where no combination of rules gives every answer, the nearest one is
/// returned and explained() is false.
Finding probe(const Instruction& instruction, const Backend& device, const Options& options);

}  // namespace mmaudit::probe
