#include "mmaudit/device/check.hpp"

#include <algorithm>

#include "check/engine.hpp"
#include "check/generate.hpp"
#include "check/tile_products.hpp"
#include "kernels/variants.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"
#include "run/launch.hpp"

namespace mmaudit::device {
namespace {

using enum Engine;

/// Tile `tile` of device memory with `bytes` bytes per tile.
template <typename Byte>
void copy_tile_out(std::vector<Byte>& to, const void* from, std::size_t bytes, std::size_t tile) {
  copy_out(to.data(), static_cast<const char*>(from) + tile * bytes, bytes);
}

}  // namespace

/// Buffers and specs.
class TileProductCheck::Work {
 public:
  Work(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath)
      : device_(device),
        instruction_(instruction),
        kernel_(require_kernel(device, instruction, 0)),
        spec_(make_dot_spec(instruction, datapath)),
        generator_(gen::make_generator_spec(instruction, datapath)),
        engine_(engine_for(instruction, datapath)),
        rules_(core_rules(spec_).value_or(CoreRules{})),
        bytes_(instruction),
        blocks_(blocks_of_batch(instruction, datapath)),
        side_(side_of_block(instruction)),
        pool_(blocks_ * side_),
        a_(pool_ * bytes_.a),
        b_(pool_ * bytes_.b),
        c_(pool_ * bytes_.c),
        metadata_(pool_ * bytes_.metadata),
        scale_a_(pool_ * bytes_.scale_a),
        scale_b_(pool_ * bytes_.scale_b),
        hardware_(pool_ * side_ * bytes_.d),
        found_(kMostMismatchesKept * sizeof(Found)) {
    const auto m = static_cast<std::uint32_t>(instruction.m), n = static_cast<std::uint32_t>(instruction.n),
               k = static_cast<std::uint32_t>(instruction.k);
    const auto stored = static_cast<std::uint64_t>(spec_.k);
    from_a_ = {.base = a_.data(),
               .bytes = static_cast<std::int32_t>(spec_.a.storage_bytes()),
               .elements = side_ * m,
               .depth = k,
               .matrices = blocks_,
               .metadata = metadata_.data<std::uint8_t>(),
               .kept = spec_.sparsity.kept,
               .group = spec_.sparsity.group,
               .element_stride = stored,
               .matrix_stride = std::uint64_t{side_} * m * stored,
               .chunk = static_cast<std::uint32_t>(chunk_of(rules_)),
               .panel = panel_shape(rules_, false)};
    from_b_ = {.base = b_.data(),
               .bytes = static_cast<std::int32_t>(spec_.b.storage_bytes()),
               .elements = side_ * n,
               .depth = k,
               .matrices = blocks_,
               .tile = n,
               .tile_stride = std::uint64_t{k} * n,
               .k_stride = n,
               .matrix_stride = std::uint64_t{side_} * k * n,
               .chunk = static_cast<std::uint32_t>(chunk_of(rules_)),
               .panel = panel_shape(rules_, true)};
    if (engine_ == fast) {
      words_a_ = Buffer(unpacked_words(from_a_) * sizeof(std::uint32_t));
      words_b_ = Buffer(unpacked_words(from_b_) * sizeof(std::uint32_t));
    } else if (engine_ == integer) {
      const auto row_bytes = sizeof(std::uint32_t) * static_cast<std::size_t>(packed_words(
                                                         instruction.a == Format::b1, instruction.k));
      words_a_ = Buffer(blocks_ * from_a_.elements * row_bytes);
      words_b_ = Buffer(blocks_ * from_b_.elements * row_bytes);
    }
  }

  [[nodiscard]] Engine engine() const { return engine_; }
  [[nodiscard]] std::uint64_t dots() const { return blocks_ * dots_of_block(instruction_); }

  [[nodiscard]] CheckItem at_least(std::uint64_t dots) const {
    const std::uint64_t blocks =
        std::max<std::uint64_t>(1, detail::quotient_up(dots, dots_of_block(instruction_)));
    const std::uint64_t batches = detail::quotient_up(blocks, blocks_);
    return {.batches = batches, .blocks = detail::quotient_up(blocks, batches)};
  }

  CheckResult run(const CheckItem& item) {
    require_kernel(device_, instruction_, item.modifiers.value_or(0));
    const std::uint64_t blocks = item.blocks != 0 ? std::min(item.blocks, blocks_) : blocks_;
    const std::uint64_t tiles = blocks * side_ * side_, dots = blocks * dots_of_block(instruction_);
    total_.clear();
    poison(hardware_.data(), tiles * bytes_.d);  // seen in the first batch
    for (std::uint64_t i = 0; i < item.batches; ++i)
      start_batch(item, blocks, item.first_batch + i, i * dots);
    CheckResult result{.dots = item.batches * dots, .mismatches = total_.read(), .first = {}};
    std::vector<Found> found(std::min<std::uint64_t>(result.mismatches, kMostMismatchesKept));
    if (!found.empty()) copy_out(found.data(), found_.data(), found.size() * sizeof(Found));
    std::sort(found.begin(), found.end(),
              [](const Found& x, const Found& y) { return x.element < y.element; });
    std::uint64_t held = item.batches - 1;  // the batch whose operands the buffers hold
    for (const Found& one : found) {
      const std::uint64_t batch = one.element / dots;
      if (batch != held) start_batch(item, blocks, item.first_batch + batch, 0);
      held = batch;
      result.first.push_back(read_back(item, item.first_batch + batch, one.element % dots, one.model));
    }
    return result;
  }

 private:
  [[nodiscard]] KernelArgs products(const CheckItem& item, std::uint64_t blocks, std::uint64_t batch) const {
    const bool registers = batch % 2 != 0 && has_modifiers(instruction_, kAFromRegisters);
    return {.a = a_.data(),
            .b = b_.data(),
            .c = c_.data(),
            .d = hardware_.data(),
            .scale_a = scale_a_.data<std::uint8_t>(),
            .scale_b = scale_b_.data<std::uint8_t>(),
            .metadata = metadata_.data<std::uint8_t>(),
            .tiles = static_cast<std::uint32_t>(blocks * side_ * side_),
            .n = instruction_.n,
            .modifiers = item.modifiers.value_or(registers ? kAFromRegisters : 0),
            .side = side_};
  }

  /// Starts everything of one batch and does not wait for it.
  void start_batch(const CheckItem& item, std::uint64_t blocks, std::uint64_t batch,
                   std::uint64_t first_element) {
    launch_generate(generator_, instruction_, item.input_class, item.seed, batch * pool_,
                    {.a = a_.data(),
                     .b = b_.data(),
                     .c = c_.data(),
                     .metadata = metadata_.data<std::uint8_t>(),
                     .scale_a = scale_a_.data<std::uint8_t>(),
                     .scale_b = scale_b_.data<std::uint8_t>(),
                     .tiles = static_cast<std::uint32_t>(blocks * side_),
                     .tiles_of_shape = side_});
    const KernelArgs on_hardware = products(item, blocks, batch);
    launch(device_, kernel_, on_hardware);
    TileProductArgs args = tile_product_args(instruction_, on_hardware);
    args.hardware = hardware_.data();
    args.blocks = static_cast<std::uint32_t>(blocks);
    args.total = total_.place();
    args.found = found_.data<Found>();
    args.most = static_cast<std::uint32_t>(kMostMismatchesKept);
    args.first_element = first_element;
    // The model knows no modifiers: its operands are changed, and A and B changed back for read_back().
    if ((on_hardware.modifiers & kScaleDZero) != 0)
      cuda_check(cudaMemset(c_.data(), 0, blocks * side_ * bytes_.c), "clearing C");
    negate_operands(on_hardware.modifiers, blocks * side_);
    launch_engine(args);
    negate_operands(on_hardware.modifiers, blocks * side_);
  }

  void negate_operands(std::uint8_t modifiers, std::uint64_t tiles) {
    const std::size_t each_a = spec_.a.storage_bytes(), each_b = spec_.b.storage_bytes();
    if ((modifiers & kNegateA) != 0) launch_negate(spec_.a, a_.data(), tiles * bytes_.a / each_a);
    if ((modifiers & kNegateB) != 0) launch_negate(spec_.b, b_.data(), tiles * bytes_.b / each_b);
  }

  void launch_engine(const TileProductArgs& args) {
    auto* const a = words_a_.data<std::uint32_t>();
    auto* const b = words_b_.data<std::uint32_t>();
    switch (engine_) {
      case fast:
        from_a_.matrices = from_b_.matrices = args.blocks;
        launch_unpack(rules_, rules_.a, from_a_, a);
        launch_unpack(rules_, rules_.b, from_b_, b);
        return launch_fast(rules_, {a, b}, args);
      case integer:
        return launch_integer(spec_, {a, b}, args);
      case binary64:
        return launch_binary64(spec_, args);
      case binary32:
        return launch_binary32(spec_, args);
      case plain:
        return launch_plain(spec_, args);
    }
  }

  /// `element` of D counts within the batch, whose operands the buffers hold.
  [[nodiscard]] Mismatch read_back(const CheckItem& item, std::uint64_t batch, std::uint64_t element,
                                   std::uint64_t model) const {
    const auto n = static_cast<std::uint64_t>(instruction_.n);
    const std::uint64_t of_tile = static_cast<std::uint64_t>(instruction_.m) * n;
    const std::uint64_t tile = element / of_tile;
    const KernelArgs args = products(item, blocks_, batch);
    const TileIndices at = tile_indices(args, static_cast<std::uint32_t>(tile));
    TileBatch one(instruction_, 1, args.modifiers);
    TileView view = one.view();
    copy_tile_out(one.a, args.a, bytes_.a, at.a);
    copy_tile_out(one.b, args.b, bytes_.b, at.b);
    copy_tile_out(one.c, args.c, bytes_.c, at.c);
    copy_tile_out(one.d, args.d, bytes_.d, at.d);
    if (bytes_.metadata != 0) copy_tile_out(one.metadata, args.metadata, bytes_.metadata, at.a);
    if (bytes_.scale_a != 0) {
      copy_tile_out(one.scale_a, args.scale_a, bytes_.scale_a, at.a);
      copy_tile_out(one.scale_b, args.scale_b, bytes_.scale_b, at.b);
    }
    const int row = static_cast<int>(element % of_tile / n), column = static_cast<int>(element % n);
    Mismatch mismatch{.dot = dot_at(instruction_, view, 0, row, column),
                      .expected = d_at(instruction_, view, 0, row, column),
                      .found = model};
    mismatch.dot.input_class = gen::name_of(item.input_class);
    mismatch.dot.tile = batch * pool_ * side_ + tile;
    return mismatch;
  }

  DeviceInfo device_;
  Instruction instruction_;
  const KernelEntry& kernel_;
  DotSpec spec_;
  gen::GeneratorSpec generator_;
  Engine engine_;
  CoreRules rules_;
  TileBytes bytes_;
  std::uint64_t blocks_;  ///< of a batch
  std::uint32_t side_;
  std::uint64_t pool_;  ///< tiles of A, B and C each in a batch
  UnpackSource from_a_, from_b_;
  Buffer a_, b_, c_, metadata_, scale_a_, scale_b_, hardware_, found_, words_a_, words_b_;
  Counter total_;
};

TileProductCheck::TileProductCheck(const DeviceInfo& device, const Instruction& instruction,
                                   const Datapath& datapath)
    : work_(std::make_unique<Work>(device, instruction, datapath)) {}
TileProductCheck::~TileProductCheck() = default;

std::string_view TileProductCheck::engine() const { return name_of(work_->engine()); }
std::uint64_t TileProductCheck::dots_of_batch() const { return work_->dots(); }
CheckItem TileProductCheck::at_least(std::uint64_t dots) const { return work_->at_least(dots); }
CheckResult TileProductCheck::run(const CheckItem& item) { return work_->run(item); }

}  // namespace mmaudit::device
