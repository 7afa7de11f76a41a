#pragma once
// The answers of a probed instruction, and what a datapath makes of them.
#include <cstddef>
#include <optional>
#include <unordered_set>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/probe/probe.hpp"

namespace mmaudit::probe {

/// D of one dot product as `spec` computes it.
std::uint64_t model_d(const DotSpec& spec, const Instruction& instruction, const DotCase& dot);

/// Distinct dot products with their answers.
class Facts {
 public:
  explicit Facts(const Instruction& instruction) : instruction_(instruction) {}

  /// False where the dot product is there already.
  bool add(Fact fact);
  [[nodiscard]] const std::vector<Fact>& all() const { return facts_; }

  /// Contradicted answers; counting stops above `limit`.
  [[nodiscard]] std::size_t wrong(const Datapath& datapath, std::size_t limit) const;
  /// From here on wrong() asks those first that `datapath` does not give: a datapath that is no better is
  /// known after as many.
  void ask_first_what_contradicts(const Datapath& datapath) const;
  /// Any contradicted answer: those that decided before are asked first.
  [[nodiscard]] std::optional<std::size_t> contradiction(const Datapath& datapath) const;
  /// The one with the fewest products that are not zero. `sort()` comes before.
  [[nodiscard]] std::optional<std::size_t> simplest(const Datapath& datapath) const;
  /// Fewest non-zero products first.
  void sort();

 private:
  [[nodiscard]] bool contradicts(const DotSpec& spec, std::size_t at) const {
    return model_d(spec, instruction_, facts_[at].dot) != facts_[at].d;
  }

  Instruction instruction_;
  std::vector<Fact> facts_;
  std::unordered_set<std::string> seen_;
  mutable std::vector<std::size_t> decisive_, order_;
};

}  // namespace mmaudit::probe
