#pragma once
// Recordings of special functions: <folder>/functions/<name>.npy, rows of operands and the GPU's result.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/functions.hpp"

namespace mmaudit::corpus {

/// Words of 32 bits; a narrow function has the low 16. `y` is empty unless the function is a quotient.
struct FunctionRecording {
  const functions::Function* function = nullptr;
  std::string file;
  std::vector<std::uint32_t> x, y, result;
};

/// Every recording below `folder` of a function that `names` has (empty: all), in the order of the rows of
/// functions. What has no recording is left out. InputError for a file that is no array (inputs, 2 or 3) of
/// u32.
std::vector<FunctionRecording> read_function_recordings(const std::filesystem::path& folder,
                                                        const std::vector<std::string>& names = {});

/// Writes <folder>/functions/<name>.npy. InputError where that can't be done.
void write_function_recording(const std::filesystem::path& folder, const FunctionRecording& recording);

/// Operands of a recording, without results: of every binade of both signs the first, the last, and drawn
/// ones, 2048 or 4096 in all; every other divisor of a quotient has an exponent near the dividend's.
FunctionRecording operands_to_record(const functions::Function& function, std::uint64_t seed);

}  // namespace mmaudit::corpus
