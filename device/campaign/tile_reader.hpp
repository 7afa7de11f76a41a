#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/arguments.hpp"
#include "mmaudit/device/campaign.hpp"
#include "run/cuda_check.hpp"
#include "run/device_batch.hpp"

namespace mmaudit::device {

/// Elements of one tile, read back from the device.
class TileReader {
 public:
  TileReader(const void* base, std::size_t tile_bytes, std::size_t tile, std::size_t element_bytes)
      : words_(tile_bytes), element_bytes_(element_bytes) {
    copy_out(words_.data(), static_cast<const char*>(base) + tile * tile_bytes, tile_bytes);
  }
  [[nodiscard]] std::uint64_t operator[](std::size_t index) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, words_.data() + index * element_bytes_, element_bytes_);
    return bits;
  }

 private:
  std::vector<char> words_;
  std::size_t element_bytes_;
};

/// What the dot product of element `within` of D's tile read and gave on the device; family, tile number and
/// the model's bits are the caller's to fill in.
inline Mismatch read_back(const Instruction& instruction, const DotPlan& plan, const KernelArgs& args,
                          const TileIndices& at, std::size_t within) {
  const TileBytes bytes(instruction);
  const auto n = static_cast<std::size_t>(instruction.n), k = static_cast<std::size_t>(instruction.k);
  const auto stored = static_cast<std::size_t>(instruction.stored_k());
  const std::size_t row = within / n, col = within % n;
  const TileReader a(args.a, bytes.a, at.a, plan.a.storage_bytes());
  const TileReader b(args.b, bytes.b, at.b, plan.b.storage_bytes());
  Mismatch mismatch;
  mismatch.row = static_cast<int>(row);
  mismatch.col = static_cast<int>(col);
  mismatch.modifiers = args.modifiers;
  for (std::size_t i = 0; i < stored; ++i) mismatch.a.push_back(a[row * stored + i]);
  for (std::size_t i = 0; i < k; ++i) mismatch.b.push_back(b[i * n + col]);
  mismatch.c = TileReader(args.c, bytes.c, at.c, plan.step.addend.storage_bytes())[within];
  mismatch.d_hardware = TileReader(args.d, bytes.d, at.d, plan.d.storage_bytes())[within];
  if (bytes.metadata == 0) return mismatch;
  const TileReader metadata(args.metadata, bytes.metadata, at.a, 1);
  for (std::size_t i = 0; i < stored; ++i)
    mismatch.metadata.push_back(static_cast<std::uint8_t>(metadata[row * stored + i]));
  return mismatch;
}

}  // namespace mmaudit::device
