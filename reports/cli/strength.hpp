#pragma once
// How strong a corpus is: which mutants it contradicts.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/mutants/mutants.hpp"

namespace mmaudit::cli {

struct Kill {
  Mutant mutant;
  std::uint64_t dots = 0;  ///< recorded results that contradict the mutant
  std::string family;      ///< the family that contradicts it most often
};

struct InstructionStrength {
  Instruction instruction;
  std::uint64_t dots = 0;
  std::vector<Kill> kills;
};

/// Replays every recording (of `only`'s GPUs, where given) through every mutant of its datapath.
std::vector<InstructionStrength> measure_strength(const std::filesystem::path& folder,
                                                  const std::vector<std::string>& filters,
                                                  const Architecture* only = nullptr);

/// Mutants that some input could tell apart but no recording does.
std::size_t survivors(const std::vector<InstructionStrength>& strengths);

std::string strength_text(const std::vector<InstructionStrength>& strengths, bool every_instruction);
std::string strength_json(const std::vector<InstructionStrength>& strengths);

}  // namespace mmaudit::cli
