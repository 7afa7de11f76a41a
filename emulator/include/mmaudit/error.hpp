#pragma once
// What the modules around the model throw. The model itself never throws: look-ups return std::optional.
#include <stdexcept>

#include "mmaudit/refusal.hpp"

namespace mmaudit {

/// Bad input or usage: one line that names file, field, what was found and what is allowed. Exit code 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The surroundings lack something (no GPU, no driver, an instruction this GPU does not have). Exit code 3.
struct EnvironmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A call to the GPU failed: what runs there after it may fail, too.
struct GpuError : EnvironmentError {
  using EnvironmentError::EnvironmentError;
};

/// Throws InputError(refusal(text, values...)).
template <class... Values>
[[noreturn]] void refuse(std::type_identity_t<RefusalText<Values...>> text, const Values&... values) {
  throw InputError(refusal(text, values...));
}

}  // namespace mmaudit
