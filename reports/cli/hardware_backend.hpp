#pragma once
#include "mmaudit/device/runner.hpp"
#include "mmaudit/laws/backend.hpp"

namespace mmaudit::cli {

/// The instructions themselves.
laws::Backend hardware_backend(const device::DeviceInfo& gpu);

}  // namespace mmaudit::cli
