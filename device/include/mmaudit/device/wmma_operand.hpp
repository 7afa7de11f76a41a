#pragma once
#include <cstdint>

namespace mmaudit::device {

enum class WmmaOperand : std::uint8_t { a, b, c, d };

}  // namespace mmaudit::device
