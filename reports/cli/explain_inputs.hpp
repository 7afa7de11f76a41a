#pragma once
// Where the dot product that `mmaudit explain` shows comes from: the command line, or a tile of a recording.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/oracles/exact.hpp"

namespace mmaudit::cli {

struct ExplainOptions {
  std::string architecture, instruction, a, b, c, scale_a, scale_b, metadata, tile_file;
  std::vector<std::string> against;
  std::uint64_t tile = 0;
  int row = 0, column = 0, scale_d = 1;
  bool json = false, negate_a = false, negate_b = false, all = false;
};

struct ExplainInputs {
  Instruction instruction;
  std::vector<std::uint64_t> a, b;
  std::vector<std::uint8_t> scale_a, scale_b;  // empty: every scale is 1
  std::uint64_t c = 0;
  unsigned modifiers = 0;
  std::vector<std::uint8_t> metadata;  // sparse: of the row of A
  std::string recorded;                // D of the recording, hex; empty: none
};

/// Errors of all three: InputError with the option and what is allowed.
ExplainInputs inputs_of_recording(const ExplainOptions& options);
ExplainInputs inputs_of_text(const ExplainOptions& options);
/// The same dot product for an architecture that lacks the instruction: the formats stay, k is the least
/// that holds every product that is not +0 times +0. Refused as require_datapath() does when there is none,
/// or when modifiers would be lost.
ExplainInputs inputs_on(const Architecture& architecture, const ExplainInputs& inputs);

/// The dense dot product that a sparse one is: B's elements that the stored ones of A meet, `k` of the
/// listing counting stored elements.
std::vector<std::uint64_t> factors_of_b(const ExplainInputs& inputs);
oracle::ExactDot exact_of(const ExplainInputs& inputs);

}  // namespace mmaudit::cli
