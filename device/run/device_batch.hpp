#pragma once
// A batch in host memory, taken through device memory in parts that fit.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "run/cuda_check.hpp"
#include "run/launch.hpp"

namespace mmaudit::device {

class DeviceBatch {
 public:
  DeviceBatch(const Instruction& instruction, const TileView& batch)
      : batch_(batch),
        bytes_(instruction),
        most_(std::min(batch.tiles, std::max<std::size_t>(1, kPartBytes / bytes_.all()))),
        a_(most_ * bytes_.a),
        b_(most_ * bytes_.b),
        c_(batch.c != nullptr ? most_ * bytes_.c : 0),
        d_(most_ * bytes_.d),
        metadata_(most_ * bytes_.metadata),
        scale_a_(batch.scale_a != nullptr ? most_ * bytes_.scale_a : 0),
        scale_b_(batch.scale_b != nullptr ? most_ * bytes_.scale_b : 0) {
    args_ = {.a = a_.data(),
             .b = b_.data(),
             .c = c_.data(),
             .d = d_.data(),
             .scale_a = scale_a_.data<std::uint8_t>(),
             .scale_b = scale_b_.data<std::uint8_t>(),
             .metadata = metadata_.data<std::uint8_t>(),
             .n = instruction.n};
  }

  /// Most tiles of one part.
  [[nodiscard]] std::size_t most() const { return most_; }

  /// Calls work(args, modifiers) for every part: args holds its device pointers and number of tiles,
  /// `modifiers` is the host's byte per tile, or null. work() only has to start what writes D.
  template <typename Work>
  void for_each_part(Work work) {
    for (std::size_t first = 0; first < batch_.tiles; first += most_) {
      const std::size_t count = std::min(most_, batch_.tiles - first);
      const auto from = [first](const void* base, std::size_t bytes) {
        return static_cast<const char*>(base) + first * bytes;
      };
      copy_in(a_.data(), from(batch_.a, bytes_.a), count * bytes_.a);
      copy_in(b_.data(), from(batch_.b, bytes_.b), count * bytes_.b);
      if (batch_.c != nullptr) copy_in(c_.data(), from(batch_.c, bytes_.c), count * bytes_.c);
      if (bytes_.metadata != 0)
        copy_in(metadata_.data(), from(batch_.metadata, bytes_.metadata), count * bytes_.metadata);
      if (batch_.scale_a != nullptr)
        copy_in(scale_a_.data(), from(batch_.scale_a, bytes_.scale_a), count * bytes_.scale_a);
      if (batch_.scale_b != nullptr)
        copy_in(scale_b_.data(), from(batch_.scale_b, bytes_.scale_b), count * bytes_.scale_b);
      poison(d_.data(), count * bytes_.d);
      args_.tiles = static_cast<std::uint32_t>(count);
      work(args_, batch_.modifiers != nullptr ? batch_.modifiers + first : nullptr);
      cuda_check(cudaDeviceSynchronize(), "running a kernel");
      copy_out(static_cast<char*>(batch_.d) + first * bytes_.d, d_.data(), count * bytes_.d);
    }
  }

 private:
  static constexpr std::size_t kPartBytes = std::size_t{256} << 20;

  TileView batch_;
  TileBytes bytes_;
  std::size_t most_;
  Buffer a_, b_, c_, d_, metadata_, scale_a_, scale_b_;
  KernelArgs args_;
};

}  // namespace mmaudit::device
