#include "mmaudit/device/product_check.hpp"

#include <algorithm>
#include <optional>

#include "check/generate.hpp"
#include "check/wide.hpp"
#include "model/product.hpp"
#include "run/cuda_check.hpp"
#include "run/launch.hpp"

namespace mmaudit::device {

class ProductCheck::Work {
 public:
  Work(const DeviceInfo& device, const Instruction& instruction, int side, const Datapath& kernels,
       const Datapath& plain)
      : device_(device),
        instruction_(instruction),
        generator_(gen::make_generator_spec(instruction, plain)),
        bytes_(instruction),
        side_(static_cast<std::uint32_t>(side)),
        m_(side_ * static_cast<std::uint32_t>(instruction.m)),
        n_(side_ * static_cast<std::uint32_t>(instruction.n)) {
    select();
    const auto all = [this](std::size_t bytes) { return Buffer(side_ * bytes); };
    a_ = all(bytes_.a), b_ = all(bytes_.b), c_ = all(bytes_.c);
    if (bytes_.metadata != 0) metadata_ = Buffer(side_ * bytes_.metadata + kMaxK);
    scale_a_ = all(bytes_.scale_a), scale_b_ = all(bytes_.scale_b);
    wide_b_ = all(bytes_.b), wide_scale_b_ = all(bytes_.scale_b);
    const std::size_t each = spec_of(instruction.d).storage_bytes();
    for (Buffer* one : {&wide_c_, &by_kernels_, &by_plain_}) *one = Buffer(dots() * each);
    kernels_.emplace(instruction, kernels, problem(by_kernels_), ProductFactors{}, DeviceModel::fast);
    plain_.emplace(instruction, plain, problem(by_plain_), ProductFactors{}, DeviceModel::plain);
    space_ = Buffer(std::max<std::uint64_t>(1, kernels_->workspace()));
    plain_space_ = Buffer(std::max<std::uint64_t>(1, plain_->workspace()));
  }

  std::uint64_t differing(gen::InputClass input_class, std::uint64_t seed, std::uint64_t number) {
    select();
    draw(input_class, seed, number);
    const std::size_t each = spec_of(instruction_.d).storage_bytes();
    // Different poison on both sides, so an unwritten element shows up as a difference.
    cuda_check(cudaMemset(by_kernels_.data(), 0x5A, dots() * each), "clearing the output");
    poison(by_plain_.data(), dots() * each);
    kernels_->launch(space_.data(), nullptr);
    plain_->launch(plain_space_.data(), nullptr);
    Counter total;
    launch_count_differing(by_kernels_.data(), by_plain_.data(), static_cast<int>(each), dots(),
                           total.place());
    return total.read();
  }

 private:
  [[nodiscard]] std::uint64_t dots() const { return std::uint64_t{m_} * n_; }
  void select() const { cuda_check(cudaSetDevice(device_.ordinal), "selecting the device"); }

  [[nodiscard]] Matmul problem(const Buffer& d) const {
    return {.m = m_,
            .n = n_,
            .k = static_cast<std::uint64_t>(instruction_.k),
            .a = a_.data(),
            .b = wide_b_.data(),
            .c = wide_c_.data(),
            .d = d.data(),
            .scale_a = scale_a_.data<std::uint8_t>(),
            .scale_b = wide_scale_b_.data<std::uint8_t>(),
            .metadata = metadata_.data<std::uint8_t>(),
            .epilogue = std::nullopt};
  }

  void draw(gen::InputClass input_class, std::uint64_t seed, std::uint64_t number) {
    launch_generate(generator_, instruction_, input_class, seed, number * side_,
                    {.a = a_.data(),
                     .b = b_.data(),
                     .c = c_.data(),
                     .metadata = metadata_.data<std::uint8_t>(),
                     .scale_a = scale_a_.data<std::uint8_t>(),
                     .scale_b = scale_b_.data<std::uint8_t>(),
                     .tiles = side_,
                     .tiles_of_shape = side_});
    const auto m = static_cast<std::uint32_t>(instruction_.m), n = static_cast<std::uint32_t>(instruction_.n),
               k = static_cast<std::uint32_t>(instruction_.k);
    const auto beside = [&](const Buffer& tiles, const Buffer& wide, Format format, std::uint32_t rows) {
      return WideMatrix{.tiles = tiles.data(),
                        .wide = wide.data(),
                        .bytes = static_cast<int>(spec_of(format).storage_bytes()),
                        .rows = rows,
                        .columns = n_,
                        .m = rows,
                        .n = n,
                        .side = static_cast<int>(side_)};
    };
    launch_widen(beside(b_, wide_b_, instruction_.b, k));
    if (bytes_.scale_b != 0)
      launch_widen(beside(scale_b_, wide_scale_b_, instruction_.scale,
                          static_cast<std::uint32_t>(scales_of(instruction_))));
    WideMatrix c = beside(c_, wide_c_, instruction_.c, m_);
    c.m = m, c.is_c = true;
    launch_widen(c);
  }

  DeviceInfo device_;
  Instruction instruction_;
  gen::GeneratorSpec generator_;
  TileBytes bytes_;
  std::uint32_t side_, m_, n_;  ///< of a tile product
  Buffer a_, b_, c_, metadata_, scale_a_, scale_b_, wide_b_, wide_scale_b_, wide_c_;
  Buffer by_kernels_, by_plain_, space_, plain_space_;
  std::optional<DeviceProduct> kernels_, plain_;
};

ProductCheck::ProductCheck(const DeviceInfo& device, const Instruction& instruction, int side,
                           const Datapath& kernels, const Datapath& plain)
    : work_(std::make_unique<Work>(device, instruction, side, kernels, plain)) {}
ProductCheck::~ProductCheck() = default;

std::uint64_t ProductCheck::differing(gen::InputClass input_class, std::uint64_t seed, std::uint64_t number) {
  return work_->differing(input_class, seed, number);
}

}  // namespace mmaudit::device
