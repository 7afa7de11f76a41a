#pragma once
// The operands that `mmaudit explain layout` shows, wherever their maps come from.
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/device/fragment_probe.hpp"
#include "mmaudit/device/wmma_fragment.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::cli {

/// What of an instruction is to be shown; of wmma, whether an operand lies in memory by "row" or by "col".
struct LayoutChoice {
  std::vector<std::string> operands = {"a", "b", "d"};
  std::string a = "row", b = "col", c = "row";
};

struct LayoutOperand {
  std::string name;  ///< "A", "A by columns"
  Format format = Format::none;
  device::WmmaFragment map;
};

/// How the operands of an instruction lie in registers, and how that is known.
struct Layout {
  std::vector<LayoutOperand> operands;
  std::string known;     ///< one line; empty: the PTX ISA says it
  std::string evidence;  ///< "literature", "seen"
};

/// What the PTX ISA says of any instruction with has_fragment_maps().
Layout specified_layout(const Instruction& instruction, const LayoutChoice& choice);

/// Fragments of wmma, which the PTX ISA leaves unspecified: what is published about `architecture`. Errors:
/// InputError when nothing is, and without an architecture.
Layout published_wmma_layout(const Instruction& instruction, const Architecture* architecture,
                             const LayoutChoice& choice);

/// The same as this machine's GPU shows them. Errors: EnvironmentError without one.
Layout discovered_wmma_layout(const Instruction& instruction, const LayoutChoice& choice);

/// The declared meetings of slots beside those that the GPU of this machine shows.
struct Discovered {
  std::string device;
  std::size_t differing = 0;  ///< pairs of slots
  bool agrees = false;
  device::FragmentMeetings declared;
};

/// Errors: EnvironmentError without a GPU that runs it.
Discovered discover(const Instruction& instruction);

report::Report report_of(const Instruction& instruction, const Layout& layout,
                         const std::optional<Discovered>& discovered);

}  // namespace mmaudit::cli
