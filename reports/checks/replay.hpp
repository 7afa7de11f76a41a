#pragma once
// Two backends on the same tiles, bit for bit: a recording, or any D, against a model.
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/dot_case.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::checks {

/// Dot products of one input class.
struct ClassCount {
  std::string input_class;
  std::uint64_t dots = 0, mismatches = 0;
};

/// The sum of one field, or of what a member function returns, over `items`.
template <typename Items, typename Field>
std::uint64_t sum_of(const Items& items, Field field) {
  std::uint64_t sum = 0;
  for (const auto& one : items) sum += std::invoke(field, one);
  return sum;
}

/// What was compared of one instruction and what differed.
struct Comparison {
  Instruction instruction;
  std::vector<ClassCount> classes;
  std::vector<Mismatch> examples;  ///< the first few

  [[nodiscard]] std::uint64_t dots() const { return sum_of(classes, &ClassCount::dots); }
  [[nodiscard]] std::uint64_t mismatches() const { return sum_of(classes, &ClassCount::mismatches); }
};

inline constexpr std::size_t kMostExamples = 8;  ///< kept of a comparison; all are counted

/// Every element of D of these tiles against `found`, which has D's shape. `batch.d` is what is expected.
void compare_tiles(const TileView& batch, const void* found, const std::string& input_class,
                   std::size_t first, std::size_t tiles, std::size_t most_examples, Comparison& into);

/// The instruction a recording names; InputError when it names none or its shapes do not fit it.
Instruction instruction_of(const corpus::Recording& recording, const std::string& file);

/// The recorded operands, with the recorded D. The view does not write.
TileView view_of(const corpus::Recording& recording);

/// Runs the model over the recorded operands and compares D.
Comparison replay(const corpus::Recording& recording, const Instruction& instruction,
                  const Datapath& datapath, std::size_t most_examples = kMostExamples);

}  // namespace mmaudit::checks
