#pragma once
// A product in device memory by the tensor cores of the GPU that is here, each element in the order of its
// plan. Declarations without CUDA syntax.
#include <cstdint>
#include <string>

#include "mmaudit/matmul.hpp"
#include "mmaudit/scaled_matmul.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// Why the current GPU can't compute this product by its own instructions, as "field: found X, allowed: Y";
/// empty when it can: the datapath is its own, and there is a kernel. Of pointers it matters only whether
/// they are null.
std::string why_no_hardware(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

/// `problem` and `factors` have device pointers, A's a multiple of 16; why_no_hardware() is empty.
class HardwareProduct {
 public:
  HardwareProduct(const Instruction& instruction, const Matmul& problem, const ProductFactors& factors);

  /// Bytes of work space.
  [[nodiscard]] std::uint64_t workspace() const { return layout(nullptr).bytes; }
  /// Starts the kernels; nothing waits. InputError where A's address is no multiple of 16.
  void launch(void* workspace, Stream stream) const;

 private:
  /// What lies in the work space: A where its rows are no multiple of 16 bytes, B by columns, sums.
  struct Layout {
    void *a = nullptr, *b = nullptr;
    float* sums = nullptr;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Layout layout(void* base) const;

  Instruction instruction_;
  Matmul problem_;
  ProductFactors factors_;
  std::uint64_t bytes_ = 0;  ///< of an element
  std::uint64_t pitch_ = 0;  ///< elements from row to row of packed operands
};

}  // namespace mmaudit::device
