#pragma once
// A recording against a row of the model, bit for bit.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::cli {

/// One element of D on which two backends differ; raw bits in storage width.
struct Mismatch {
  std::string family;
  std::uint64_t tile = 0;
  int row = 0, column = 0;
  unsigned modifiers = 0;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0, expected = 0, modelled = 0;
  std::vector<std::uint8_t> metadata;  ///< of its row of A; empty: dense
};

struct FamilyCount {
  std::string family;
  std::uint64_t dots = 0, mismatches = 0;
};

struct ReplayResult {
  Instruction instruction;
  std::vector<FamilyCount> families;
  std::vector<Mismatch> examples;  ///< the first few

  [[nodiscard]] std::uint64_t dots() const;
  [[nodiscard]] std::uint64_t mismatches() const;
};

/// The instruction a recording names; InputError when it names none or its shapes do not fit it.
Instruction instruction_of(const corpus::Recording& recording, const std::string& file);

/// Runs the model over the recorded operands and compares D. `max_examples` bounds what is kept, not what is
/// counted.
ReplayResult replay(const corpus::Recording& recording, const Instruction& instruction,
                    const Datapath& datapath, std::size_t max_examples = 8);

/// Bits, value and distance in ulps of one mismatch, on indented lines.
std::string describe(const Mismatch& mismatch, const Instruction& instruction);

/// "mmaudit explain ..." of one dot product; without --arch where `architecture` is empty.
std::string explain_command(const Instruction& instruction, std::string_view architecture,
                            const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                            std::uint64_t c, const std::vector<std::uint8_t>& metadata);

/// Distance of two results in units of the last place of `format`; nullopt text "-" when one is NaN or
/// infinite.
std::string ulps_text(std::uint64_t x, std::uint64_t y, const FormatSpec& format);

}  // namespace mmaudit::cli
