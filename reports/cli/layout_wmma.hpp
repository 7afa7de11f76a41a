#pragma once
// Fragments of wmma, which the PTX ISA leaves unspecified: from the literature, or read off this GPU.
#include <string>
#include <vector>

#include "layout_operand.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/model/datapath.hpp"

namespace mmaudit::cli {

/// What of an instruction is to be shown; `columns` is how an operand lies in memory.
struct WmmaChoice {
  std::vector<std::string> operands;
  bool a_columns = false, b_columns = true, c_columns = false;
};

struct WmmaLayout {
  std::vector<LayoutOperand> operands;
  std::string known;     ///< one line: how
  std::string evidence;  ///< "literature", "seen"
  std::string device;    ///< where it was seen, empty: nowhere
};

/// What is published about `architecture`. Errors: InputError when nothing is, and without an architecture.
WmmaLayout published_wmma_layout(const Instruction& instruction, const Architecture* architecture,
                                 const WmmaChoice& choice);

/// What this machine's GPU does. Errors: EnvironmentError without one.
WmmaLayout discovered_wmma_layout(const Instruction& instruction, const WmmaChoice& choice);

}  // namespace mmaudit::cli
