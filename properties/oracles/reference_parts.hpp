#pragma once
// The parts of reference_dot(), in Boost's integers and from the text of docs/numerics.md and the PTX ISA.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"
#include "number.hpp"

namespace mmaudit::oracle {

/// Positions k in the order of evaluation, cut into two segments that no step crosses.
class Evaluation {
 public:
  Evaluation(KOrder order, std::size_t depth);
  [[nodiscard]] std::span<const std::size_t> all() const { return all_; }
  [[nodiscard]] std::array<std::span<const std::size_t>, 2> segments() const {
    return {all().first(cut_), all().subspan(cut_)};
  }

 private:
  std::vector<std::size_t> all_;
  std::size_t cut_ = 0;
};

/// The elements of B that the stored elements of a sparse A meet, in the order of the latter. `spoilt`: an
/// element that is met by nothing makes the result a NaN.
std::vector<std::uint64_t> met_by_stored(const Instruction& instruction, MetadataRule rule,
                                         std::span<const std::uint64_t> b,
                                         std::span<const std::uint8_t> metadata, bool& spoilt);

/// Integers. `order`: the k in the order of evaluation. c has been replaced by 0 where it is not read.
std::uint64_t reference_integer_dot(const Instruction& instruction, const Datapath& datapath,
                                    std::span<const std::size_t> order, std::span<const std::uint64_t> a,
                                    std::span<const std::uint64_t> b, std::uint64_t c);

/// exact_dot_add, rounded_tree and two_stage_dot_add over operands in the order of evaluation; bits of D.
std::uint64_t reference_staged_dot(const Instruction& instruction, const Datapath& datapath,
                                   std::span<const Number> a, std::span<const Number> b, Number c);

/// The scale that the rules give to the block of position k; `bytes` empty: 1.
Number scale_of(const Instruction& instruction, const Datapath& datapath, std::span<const std::uint8_t> bytes,
                std::size_t k);

/// element * scale, as an element of its own.
Number times_scale(const Number& element, const Number& scale, const Datapath& datapath);

/// One element of A and of B, not scaled yet, with the scales of its k.
struct ScaledPair {
  Number a, b, scale_a, scale_b;
};

/// One step of groups over consecutive pairs and the addend c; bits of D's format.
std::uint64_t grouped_step(std::span<const ScaledPair> pairs, const Number& c, const Datapath& datapath,
                           const FormatSpec& output);

}  // namespace mmaudit::oracle
