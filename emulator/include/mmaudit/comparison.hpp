#pragma once
// Two backends on the same tiles, bit for bit: what was compared, what differed, and a difference as text.
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/dot_case.hpp"

namespace mmaudit {

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

/// Bits, values and their distance, and the command that explains the dot product, on indented lines.
std::string describe(const Mismatch& mismatch, const Instruction& instruction);

/// "mmaudit explain ..." of one dot product. `where`: the options --arch and --model, each with a space
/// before it.
std::string explain_command(const Instruction& instruction, const DotCase& dot,
                            const std::string& where = {});

/// Distance of two floating-point numbers in units of the last place of `format`: how many of its numbers lie
/// between, and one. NaN and infinity count as the numbers that would follow the largest.
std::uint64_t ulps_between(std::uint64_t x, std::uint64_t y, const FormatSpec& format);
/// The same of any result; "-" when one is NaN or infinite.
std::string ulps_text(std::uint64_t x, std::uint64_t y, const FormatSpec& format);

}  // namespace mmaudit
