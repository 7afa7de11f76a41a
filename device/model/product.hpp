#pragma once
// A product whose operands lie in device memory: which kernels compute it, and the work space that they need.
// Declarations without CUDA syntax.
#include <cstdint>
#include <optional>

#include "mmaudit/device/matmul.hpp"
#include "mmaudit/scaled_matmul.hpp"
#include "model/groups.hpp"
#include "model/raw_product.hpp"
#include "model/trees.hpp"

namespace mmaudit::device {

/// `problem` and `factors` have device pointers; metadata has room for one instruction more, which is read
/// and has no effect. What why_no_matmul_on_device() refuses is computed by the plain core;
/// what why_no_hardware() does is not for DeviceModel::hardware.
class DeviceProduct {
 public:
  DeviceProduct(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
                const ProductFactors& factors, DeviceModel model);

  /// Bytes of work space.
  [[nodiscard]] std::uint64_t workspace() const;
  /// Starts the kernels; nothing waits.
  void launch(void* workspace, Stream stream) const;

 private:
  /// What lies in the work space, and where operands are unpacked from; addresses are null without a base.
  struct Layout {
    void* sums = nullptr;
    UnpackSource from_a, from_b;
    std::uint32_t *a = nullptr, *b = nullptr;
    PackedGroups groups_a{}, groups_b{};
    void *lines_a = nullptr, *lines_b = nullptr;  ///< for the hardware: see launch_chains()
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Layout layout(void* base) const;
  [[nodiscard]] bool finishes() const { return problem_.epilogue.has_value(); }
  [[nodiscard]] std::uint64_t sum_bytes() const;
  [[nodiscard]] UnpackSource from_a() const;
  [[nodiscard]] UnpackSource from_b() const;

  Instruction instruction_;
  DotSpec spec_;
  Matmul problem_;
  ProductFactors factors_;
  DeviceModel model_;
  std::uint64_t slice_ = 0;
  RawProduct raw_;
  std::optional<CoreRules> core_;
  std::optional<GroupCore> groups_;
  std::optional<TreeRules> trees_;
};

}  // namespace mmaudit::device
