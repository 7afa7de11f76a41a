#pragma once
// Special functions: listed, one input explained, the model against recordings or this machine's GPU.
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/device/functions.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/report/report.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// The rows that `names` mean (functions::rows_of), each once; "functions" is all of them. Empty when no name
/// means one. InputError for some that do beside some that don't.
std::vector<const functions::Function*> functions_of(const std::vector<std::string>& names);

/// Every row: name, what it approximates, operands, steps, the vendor's bound with its source. Of a
/// generation that is not recorded the bounds alone, where it has the instruction. InputError for a GPU of
/// another vendor.
report::Report report_of_functions(const Architecture& architecture);

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
