#pragma once
#include "mmaudit/device/campaign.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/laws/backend.hpp"
#include "replay.hpp"

namespace mmaudit::cli {

/// The instructions themselves.
laws::Backend hardware_backend(const device::DeviceInfo& gpu);

/// What a check on the GPU found, as the reports have it.
Mismatch mismatch_of(const device::Mismatch& one);

}  // namespace mmaudit::cli
