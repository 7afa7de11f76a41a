#pragma once
// Writers: a result in, text out; and the reader of the JSON. Writing files is the caller's.
#include <string>
#include <string_view>

#include "mmaudit/sweeps/result.hpp"

namespace mmaudit::sweeps {

inline constexpr char kSchema[] = "mmaudit.sweep/1";

/// What: the layout of NVBench's files (meta, devices, benchmarks with axes, states and summaries; numbers of
/// summaries are strings), with `kSchema` in meta.schema.
std::string to_json(const SweepResult& result);
/// Errors: InputError("<label>: ...") for anything that to_json() does not write.
SweepResult from_json(std::string_view text, const std::string& label);

}  // namespace mmaudit::sweeps
