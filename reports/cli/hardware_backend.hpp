#pragma once
#include "mmaudit/device/backends.hpp"
#include "mmaudit/device/crossed.hpp"
#include "replay.hpp"

namespace mmaudit::cli {

using device::hardware_backend;

/// What a check on the GPU found, as the reports have it.
Mismatch mismatch_of(const mmaudit::Mismatch& one);
Mismatch mismatch_of(const device::Mismatch& one);

}  // namespace mmaudit::cli
