#pragma once
// Reader of a public data set: `model_validation` of north-numerical-computing/MATLAB-tensor-core, in its own
// files and names. <GPU>/<format>/{a,b}_<GPU>_<format>.txt hold K binary32 values a line as 8 hexadecimal
// digits; c_<GPU>_fp32.txt, d_<GPU>_fp32.txt and d_<GPU>_fp16.txt one binary32 a line as 32 binary digits.
// Line i of all of them is one dot product.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit::corpus {

/// One result file and the inputs it belongs to.
struct DatasetCase {
  std::string gpu;  ///< name of the folder: "A100", "Ada", ...
  Format format = Format::none;
  Format output = Format::none;
  bool warpgroup = false;       ///< recorded with wgmma; else with mma or wmma
  bool addend_ignored = false;  ///< C was zero, whatever the file of C holds
  std::filesystem::path a, b, c, d;
};

/// Raw bits: a and b (rows x k) in the case's format, c and d (rows) in its output format.
struct DatasetRows {
  std::size_t rows = 0, k = 0;
  std::vector<std::uint64_t> a, b, c, d;
};

/// What: every result file below `folder`, sorted by GPU, format and output. Errors: InputError for a folder
/// without results and for a format folder that the data set does not have.
std::vector<DatasetCase> find_dataset(const std::filesystem::path& folder);

/// What: the dot products of one case. Rounding: a, b and d must be values of their formats; c is rounded to
/// nearest even where the output is binary16, as the recording program did. Errors: InputError naming file
/// and line for anything that is not the layout above.
DatasetRows read_dataset(const DatasetCase& one);

}  // namespace mmaudit::corpus
