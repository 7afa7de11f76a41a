#pragma once
// Writers: a result in, text out; and the reader of the JSON. Writing files is the caller's.
#include <string>
#include <string_view>

#include "mmaudit/sweeps/result.hpp"

namespace mmaudit::sweeps {

inline constexpr char kSchema[] = "mmaudit.sweep/1";

/// Tables, findings and the papers' numbers beside ours.
std::string to_console(const SweepResult& result);
std::string to_markdown(const SweepResult& result);
/// A line a point, a column for every axis and every summary.
std::string to_csv(const SweepResult& result);

/// What: the layout of NVBench's files (meta, devices, benchmarks with axes, states and summaries; numbers of
/// summaries are strings), with `kSchema` in meta.schema.
std::string to_json(const SweepResult& result);
/// Errors: InputError("<label>: ...") for anything that to_json() does not write.
SweepResult from_json(std::string_view text, const std::string& label);

}  // namespace mmaudit::sweeps
