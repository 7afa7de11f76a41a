#include "mmaudit/device/crossed.hpp"

#include <algorithm>

#include "campaign/campaign_kernels.hpp"
#include "campaign/crossed.hpp"
#include "campaign/crossed_engine.hpp"
#include "campaign/tile_reader.hpp"
#include "kernels/variants.hpp"
#include "model/unpacked.hpp"
#include "run/launch.hpp"

namespace mmaudit::device {
namespace {

using enum CrossedEngine;

std::uint64_t elements_of_tile(const Instruction& instruction) {
  return static_cast<std::uint64_t>(instruction.m) * static_cast<std::uint64_t>(instruction.n);
}

}  // namespace

/// Buffers and plans.
class CrossedCheck::Work {
 public:
  Work(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath)
      : device_(device),
        instruction_(instruction),
        kernel_(require_kernel(device, instruction, 0)),
        plan_(make_plan(instruction, datapath)),
        generator_(gen::make_generator_plan(instruction, datapath)),
        engine_(crossed_engine(instruction, datapath)),
        rules_(core_rules(plan_).value_or(CoreRules{})),
        bytes_(instruction),
        squares_(squares_of_chunk(instruction, datapath)),
        side_(side_of_square(instruction)),
        pool_(squares_ * side_),
        a_(pool_ * bytes_.a),
        b_(pool_ * bytes_.b),
        c_(pool_ * bytes_.c),
        metadata_(pool_ * bytes_.metadata),
        hardware_(pool_ * side_ * bytes_.d),
        total_(sizeof(unsigned long long)),
        found_(kMostMismatchesKept * sizeof(Found)) {
    from_a_ = {.base = a_.data(),
               .bytes = static_cast<std::int32_t>(plan_.a.storage_bytes()),
               .elements = side_ * static_cast<std::uint32_t>(instruction.m),
               .depth = static_cast<std::uint32_t>(instruction.k),
               .matrices = squares_,
               .metadata = metadata_.data<std::uint8_t>(),
               .kept = plan_.sparsity.kept,
               .group = plan_.sparsity.group,
               .element_stride = static_cast<std::uint64_t>(plan_.k),
               .matrix_stride =
                   side_ * static_cast<std::uint64_t>(instruction.m) * static_cast<std::uint64_t>(plan_.k)};
    const auto n = static_cast<std::uint32_t>(instruction.n), k = static_cast<std::uint32_t>(instruction.k);
    from_b_ = {.base = b_.data(),
               .bytes = static_cast<std::int32_t>(plan_.b.storage_bytes()),
               .elements = side_ * n,
               .depth = k,
               .matrices = squares_,
               .tile = n,
               .tile_stride = std::uint64_t{k} * n,
               .k_stride = n,
               .matrix_stride = std::uint64_t{side_} * k * n};
    if (engine_ == fast) {
      words_a_ = Buffer(unpacked_words(from_a_) * sizeof(std::uint32_t));
      words_b_ = Buffer(unpacked_words(from_b_) * sizeof(std::uint32_t));
    } else if (engine_ == integer) {
      const auto row_bytes = sizeof(std::uint32_t) * static_cast<std::size_t>(packed_words(
                                                         instruction.a == Format::b1, instruction.k));
      words_a_ = Buffer(squares_ * from_a_.elements * row_bytes);
      words_b_ = Buffer(squares_ * from_b_.elements * row_bytes);
    }
  }

  [[nodiscard]] CrossedEngine engine() const { return engine_; }
  [[nodiscard]] std::uint64_t dots() const { return squares_ * dots_of_square(instruction_); }

  StretchResult run(const Stretch& stretch) {
    cuda_check(cudaSetDevice(device_.ordinal), "selecting the device");
    StretchResult result;
    cuda_check(cudaMemset(total_.data(), 0, sizeof(unsigned long long)), "clearing the counter");
    // An element that the instruction does not write is to be seen: in the first chunk of every stretch.
    cuda_check(cudaMemset(hardware_.data(), 0xA5, pool_ * side_ * bytes_.d), "clearing the output");
    for (std::uint64_t i = 0; i < stretch.chunks; ++i)
      start_chunk(stretch, stretch.first_chunk + i, i * dots());
    result.dots = stretch.chunks * dots();
    unsigned long long total = 0;
    copy_out(&total, total_.data(), sizeof(total));
    result.mismatches = total;
    std::vector<Found> found(std::min<std::uint64_t>(total, kMostMismatchesKept));
    if (!found.empty()) copy_out(found.data(), found_.data(), found.size() * sizeof(Found));
    std::sort(found.begin(), found.end(),
              [](const Found& x, const Found& y) { return x.element < y.element; });
    std::uint64_t shown = stretch.chunks - 1;  // whose operands the buffers hold
    for (const Found& one : found) {
      const std::uint64_t chunk = one.element / dots();
      if (chunk != shown) start_chunk(stretch, stretch.first_chunk + chunk, 0);
      shown = chunk;
      const std::uint64_t of_tile = elements_of_tile(instruction_), element = one.element % dots();
      const KernelArgs args = tiles(stretch.first_chunk + chunk);
      Mismatch& mismatch = result.first.emplace_back(
          read_back(instruction_, plan_, args,
                    tile_indices(args, static_cast<std::uint32_t>(element / of_tile)), element % of_tile));
      mismatch.family = stretch.family;
      mismatch.tile = (stretch.first_chunk + chunk) * pool_ * side_ + element / of_tile;
      mismatch.d_model = one.model;
    }
    return result;
  }

 private:
  [[nodiscard]] KernelArgs tiles(std::uint64_t chunk) const {
    const bool registers = chunk % 2 != 0 && has_modifiers(instruction_, kAFromRegisters);
    return {.a = a_.data(),
            .b = b_.data(),
            .c = c_.data(),
            .d = hardware_.data(),
            .metadata = metadata_.data<std::uint8_t>(),
            .tiles = static_cast<std::uint32_t>(pool_ * side_),
            .n = instruction_.n,
            .modifiers = static_cast<std::uint8_t>(registers ? kAFromRegisters : 0),
            .cross = side_};
  }

  /// Everything of one chunk, without waiting for it.
  void start_chunk(const Stretch& stretch, std::uint64_t chunk, std::uint64_t first_element) {
    KernelArgs pool = tiles(chunk);
    pool.tiles = static_cast<std::uint32_t>(pool_);
    launch_generate(generator_, stretch.family, stretch.seed, chunk * pool_, extents_of(instruction_), pool,
                    a_.data(), b_.data(), c_.data(), metadata_.data<std::uint8_t>(), side_);
    cuda_check(cudaGetLastError(), "launching the generator");
    launch(device_, kernel_, tiles(chunk));
    const CrossedArgs args{.a = a_.data(),
                           .b = b_.data(),
                           .c = c_.data(),
                           .metadata = metadata_.data<std::uint8_t>(),
                           .hardware = hardware_.data(),
                           .squares = static_cast<std::uint32_t>(squares_),
                           .side = side_,
                           .m = instruction_.m,
                           .n = instruction_.n,
                           .k = instruction_.k,
                           .stored_k = instruction_.stored_k(),
                           .a_bytes = from_a_.bytes,
                           .b_bytes = from_b_.bytes,
                           .c_bytes = static_cast<std::int32_t>(plan_.step.addend.storage_bytes()),
                           .d_bytes = static_cast<std::int32_t>(plan_.d.storage_bytes()),
                           .total = total_.data<unsigned long long>(),
                           .found = found_.data<Found>(),
                           .most = static_cast<std::uint32_t>(kMostMismatchesKept),
                           .first_element = first_element};
    switch (engine_) {
      case fast:
        launch_unpack(rules_, rules_.a, from_a_, words_a_.data<std::uint32_t>());
        launch_unpack(rules_, rules_.b, from_b_, words_b_.data<std::uint32_t>());
        return launch_crossed_fast(rules_, {words_a_.data<std::uint32_t>(), words_b_.data<std::uint32_t>()},
                                   args);
      case integer:
        return launch_crossed_integer(plan_, {words_a_.data<std::uint32_t>(), words_b_.data<std::uint32_t>()},
                                      args);
      case binary64:
        return launch_crossed_binary64(plan_, args);
      case binary32:
        return launch_crossed_binary32(plan_, args);
      case plain:
        return launch_crossed_plain(plan_, args);
    }
  }

  DeviceInfo device_;
  Instruction instruction_;
  const KernelRow& kernel_;
  DotPlan plan_;
  gen::GeneratorPlan generator_;
  CrossedEngine engine_;
  CoreRules rules_;
  TileBytes bytes_;
  std::uint64_t squares_;  ///< of a chunk
  std::uint32_t side_;
  std::uint64_t pool_;  ///< tiles of A, B and C each in a chunk
  UnpackSource from_a_, from_b_;
  Buffer a_, b_, c_, metadata_, hardware_, total_, found_, words_a_, words_b_;
};

CrossedCheck::CrossedCheck(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath)
    : work_(std::make_unique<Work>(device, instruction, datapath)) {}
CrossedCheck::~CrossedCheck() = default;

std::string_view CrossedCheck::engine() const { return name_of(work_->engine()); }
std::uint64_t CrossedCheck::dots_of_chunk() const { return work_->dots(); }
StretchResult CrossedCheck::run(const Stretch& stretch) { return work_->run(stretch); }

}  // namespace mmaudit::device
