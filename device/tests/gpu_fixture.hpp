#pragma once
// The GPU under test, and every (instruction, modifiers) its kernels have.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/variants.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/model/architecture.hpp"

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

/// Names what decides the bits of a product: instructions that share it need no test each.
inline std::string product_key(const Instruction& instruction, const Datapath& datapath) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  std::string key;
  for (const Format format : {instruction.a, instruction.b, instruction.c, instruction.d, instruction.scale,
                              datapath.widen_to, datapath.output.format})
    key += std::string(name_of(format)) + "/";
  for (const int number :
       {int{spec.k}, int{spec.sparsity.kept}, int{spec.scale_block}, int{datapath.products_per_step},
        int{datapath.fraction_bits}, int{datapath.min_alignment_exponent}, int{datapath.output.fraction_bits},
        static_cast<int>(datapath.addend), static_cast<int>(datapath.order)})
    key += std::to_string(number) + "/";
  return key;
}

}  // namespace mmaudit::device
