#include "reference_parts.hpp"

#include <algorithm>
#include <bitset>

#include "number.hpp"

namespace mmaudit::oracle {

Evaluation::Evaluation(KOrder order, std::size_t depth) {
  all_.reserve(depth);
  for (const bool wanted : {false, true}) {
    for (std::size_t k = 0; k < depth; ++k) {
      const bool second = order == KOrder::pairs_of_four   ? k % 4 >= 2
                          : order == KOrder::halves        ? k >= depth / 2
                          : order == KOrder::even_then_odd ? k % 2 == 1
                                                           : false;
      if (second == wanted) all_.push_back(k);
    }
    if (!wanted) cut_ = all_.size();
  }
  if (order == KOrder::descending) std::reverse(all_.begin(), all_.end());
}

std::vector<std::uint64_t> met_by_stored(const Instruction& instruction, MetadataRule rule,
                                         std::span<const std::uint64_t> b,
                                         std::span<const std::uint8_t> metadata, bool& spoilt) {
  const bool four_bits = instruction.a == Format::s4 || instruction.a == Format::u4 ||
                         instruction.kind == MmaKind::mxf4 || instruction.kind == MmaKind::mxf4nvf4;
  const std::size_t group = instruction.a == Format::tf32 ? 2 : four_bits ? 8 : 4;
  std::vector<std::uint64_t> met;
  met.reserve(b.size() / 2);
  for (std::size_t first = 0; first < b.size(); first += group) {
    const auto named = metadata.subspan(first / 2, group / 2);
    std::bitset<8> read;
    for (const std::size_t place : named) read[place] = true;
    for (std::size_t i = 0; i < named.size(); ++i) {
      std::size_t place = named[rule == MetadataRule::exchanged ? named.size() - 1 - i : i];
      if (rule == MetadataRule::ignored) place = i;
      if (rule == MetadataRule::mirrored) place = group - 1 - place;
      met.push_back(b[first + place]);
    }
    if (rule != MetadataRule::whole_group || spec_of(instruction.b).integer()) continue;
    for (std::size_t i = 0; i < group; ++i) {
      const Number x = decode(spec_of(instruction.b), b[first + i], true);
      spoilt = spoilt || (!read[i] && (x.nan || x.infinite));
    }
  }
  return met;
}

}  // namespace mmaudit::oracle
