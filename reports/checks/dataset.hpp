#pragma once
// The model against a public data set that the user has on disk.
#include "verify.hpp"

namespace mmaudit::checks {

/// Every result file of the data set whose instruction's name contains one of `filters` (empty: all), each
/// through the datapath of the GPU its folder names. The source of a result is its file. InputError for files
/// that are not the data set's, and for a GPU or an instruction that the model does not have. With `instead`,
/// through its datapaths in place of the GPU's own, as far as it has them.
VerifyReport verify_dataset(const std::filesystem::path& folder, const std::vector<std::string>& filters,
                            Progress& progress, const Architecture* instead = nullptr);

/// One line per result file: GPU, file, instruction used, rows, mismatches, how the datapath is known.
std::string dataset_text(const VerifyReport& report);

}  // namespace mmaudit::checks
