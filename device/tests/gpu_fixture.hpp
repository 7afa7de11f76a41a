#pragma once
// The GPU under test, and every (instruction, modifiers) its kernels have.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/variants.hpp"
#include "mmaudit/device/runner.hpp"

namespace mmaudit::device {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<DeviceInfo> found = devices();
    if (found.empty()) GTEST_SKIP() << (built_with_cuda() ? "no GPU" : "built without CUDA");
    info_ = found.front();
  }

  DeviceInfo info_;
};

struct Variant {
  Instruction instruction;
  std::uint8_t modifiers = 0;
};

/// Every instruction of the table that has a kernel, for every n; those with a kind are only assembled.
inline std::vector<Instruction> every_instruction() {
  std::vector<Instruction> all;
  for (Instruction instruction : kInstructions) {
    if (instruction.kind != MmaKind::none) continue;
    if (!is_wgmma(instruction.op)) {
      all.push_back(instruction);
      continue;
    }
    for (int n = kWgmmaMinN; n <= kWgmmaMaxN; n += kWgmmaStepN) {
      if (!wgmma_has_n(instruction, n)) continue;
      instruction.n = static_cast<std::int16_t>(n);
      all.push_back(instruction);
    }
  }
  return all;
}

/// Every combination of modifiers that a kernel has.
inline std::vector<Variant> every_variant() {
  std::vector<Variant> all;
  for (const Instruction& instruction : every_instruction())
    for (unsigned modifiers = 0; modifiers <= kModifierBits; ++modifiers)
      if (has_modifiers(instruction, modifiers) && (instruction.op != Op::mma || modifiers == 0))
        all.push_back({instruction, static_cast<std::uint8_t>(modifiers)});
  return all;
}

}  // namespace mmaudit::device
