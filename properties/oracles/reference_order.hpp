#pragma once
// Which products reference_dot() takes, and in which order.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

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

}  // namespace mmaudit::oracle
