#pragma once
// Where numbers come from. Every result carries one.
#include <cstdint>
#include <string>
#include <vector>

namespace mmaudit {

/// Free text; an empty field is unknown or does not apply.
struct Provenance {
  std::string gpu, driver, cuda;  ///< "NVIDIA H200", "580.159.04", "13.0"
  int compute_capability = 0;     ///< ten times major plus minor; 0: no GPU took part
  int multiprocessors = 0;
  double nominal_hz = 0;                ///< highest clock of the multiprocessors
  std::string version, revision, date;  ///< of this program; ISO 8601
  std::uint64_t seed = 0;
  std::vector<std::string> command;  ///< the command line, word for word
};

}  // namespace mmaudit
