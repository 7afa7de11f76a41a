#pragma once
// Special functions: listed, one input explained, the model against recordings or this machine's GPU.
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/device/functions.hpp"
#include "mmaudit/report/report.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// The functions that `names` are; empty when none of them is one. Some that are and some that aren't:
/// InputError.
std::vector<const functions::Function*> functions_of(const std::vector<std::string>& names);

/// Every row: name, what it approximates, operands, steps, the vendor's bound with its source.
report::Report report_of_functions();

/// One input: operand, segment, coefficients, square, sum, result, and its distance from the exact value.
/// InputError for a text that is no number.
report::Report explain_function(const functions::Function& function, const std::string& x,
                                const std::string& y);

/// A function's comparison with the GPU, live or recorded.
struct VerifiedFunction : device::FunctionCheck {
  const functions::Function* function = nullptr;
  std::string source;
};
std::vector<VerifiedFunction> replay_functions(const std::filesystem::path& folder,
                                               const std::vector<const functions::Function*>& chosen);
std::vector<VerifiedFunction> check_functions(const device::DeviceInfo& gpu,
                                              const std::vector<const functions::Function*>& chosen,
                                              Progress& progress);
/// Records the functions on this GPU, into folder/functions.
void record_functions(const device::DeviceInfo& gpu, const std::vector<const functions::Function*>& chosen,
                      std::uint64_t seed, const std::filesystem::path& folder);
report::Report report_of(const std::vector<VerifiedFunction>& verified);

}  // namespace mmaudit::checks
