#include "model/product.hpp"

#include "mmaudit/detail/slices.hpp"
#include "model/arena.hpp"
#include "model/epilogue.hpp"
#include "model/unpacked.hpp"
#include "run/hardware_gemm.hpp"

namespace mmaudit::device {
DeviceProduct::DeviceProduct(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
                             const ProductFactors& factors, DeviceModel model)
    : instruction_(instruction),
      spec_(make_dot_spec(instruction, datapath)),
      problem_(problem),
      factors_(factors),
      model_(model) {
  raw_.a = problem.a;
  raw_.b = problem.b;
  raw_.metadata = problem.metadata;
  raw_.m = problem.m;
  raw_.n = problem.n;
  raw_.k = problem.k;
  raw_.stored_k = stored_k(instruction, problem);
  raw_.blocks = scale_blocks(instruction, problem);
  const std::int32_t block = instruction.scale_block;
  raw_.scale_a = {problem.scale_a, spec_.scale, block, problem.m * raw_.blocks, raw_.blocks, 1};
  raw_.scale_b = {problem.scale_b, spec_.scale, block, problem.n * raw_.blocks, 1, problem.n};
  if (problem.split_k > 1) slice_ = detail::slice_length(problem, static_cast<std::uint64_t>(instruction.k));
  if (model != DeviceModel::fast || problem.k == 0) return;  // without a single step D is C as it is
  if (!why_no_matmul_on_device(instruction, datapath, problem, model).empty()) return;
  groups_ = group_core(spec_);
  if (!groups_) core_ = core_rules(spec_);
  if (!groups_ && !core_ && problem.promote == 0 && slice_ == 0) trees_ = tree_rules(spec_);
}

std::uint64_t DeviceProduct::sum_bytes() const {
  return finishes() ? problem_.batch * problem_.m * problem_.n * spec_.d.storage_bytes() : 0;
}

UnpackSource DeviceProduct::from_a() const {
  return {.base = raw_.a,
          .bytes = static_cast<std::int32_t>(spec_.a.storage_bytes()),
          .elements = static_cast<std::uint32_t>(raw_.m),
          .depth = static_cast<std::uint32_t>(raw_.k),
          .matrices = problem_.batch,
          .metadata = raw_.metadata,
          .kept = spec_.sparsity.kept,
          .group = spec_.sparsity.group,
          .element_stride = raw_.stored_k,
          .matrix_stride = raw_.m * raw_.stored_k,
          .chunk = static_cast<std::uint32_t>(chunk_of(*core_)),
          .panel = panel_shape(*core_, false),
          .scales = raw_.scale_a};
}

UnpackSource DeviceProduct::from_b() const {
  return {.base = raw_.b,
          .bytes = static_cast<std::int32_t>(spec_.b.storage_bytes()),
          .elements = static_cast<std::uint32_t>(raw_.n),
          .depth = static_cast<std::uint32_t>(raw_.k),
          .matrices = problem_.batch,
          .k_stride = raw_.n,
          .matrix_stride = raw_.k * raw_.n,
          .chunk = static_cast<std::uint32_t>(chunk_of(*core_)),
          .panel = panel_shape(*core_, true),
          .scales = raw_.scale_b};
}

DeviceProduct::Layout DeviceProduct::layout(void* base) const {
  Arena arena(base);
  Layout out;
  out.sums = arena.take<std::byte>(sum_bytes());
  if (core_) {
    out.from_a = from_a(), out.from_b = from_b();
    out.a = arena.take<std::uint32_t>(unpacked_words(out.from_a) * sizeof(std::uint32_t));
    out.b = arena.take<std::uint32_t>(unpacked_words(out.from_b) * sizeof(std::uint32_t));
  }
  if (groups_) {
    const auto groups = [&](std::uint64_t lanes) {
      const std::uint64_t sides = packed_sides(problem_.batch, lanes, problem_.k);
      auto* bytes = arena.take<std::uint8_t>(sides * kGroupDepth);
      return PackedGroups{bytes, arena.take<GroupSide>(sides * sizeof(GroupSide))};
    };
    out.groups_a = groups(problem_.m), out.groups_b = groups(problem_.n);
  }
  if (model_ == DeviceModel::hardware) {
    const std::uint64_t line = line_bytes(instruction_, problem_.k);
    if (line != problem_.k * spec_.a.storage_bytes())
      out.lines_a = arena.take<void>(problem_.batch * problem_.m * line);
    out.lines_b = arena.take<void>(problem_.batch * problem_.n * line);
  }
  out.bytes = arena.used();
  return out;
}

std::uint64_t DeviceProduct::workspace() const { return layout(nullptr).bytes; }

void DeviceProduct::launch(void* workspace, Stream stream) const {
  if (problem_.batch * problem_.m * problem_.n == 0) return;
  const Layout spaces = layout(workspace);
  GemmArgs args{.c = finishes() ? nullptr : problem_.c,
                .d = finishes() ? spaces.sums : problem_.d,
                .batch = problem_.batch,
                .m = problem_.m,
                .n = problem_.n,
                .k = problem_.k,
                .stride = problem_.promote,
                .slice = slice_,
                .factors = factors_.block != 0 ? factors_ : ProductFactors{},
                .stream = stream};
  if (groups_) {
    launch_group_packing(*groups_, raw_, args.batch, spaces.groups_a, spaces.groups_b, stream);
    launch_grouped_gemm(*groups_, spaces.groups_a, spaces.groups_b, args);
  } else if (core_) {
    launch_unpack(*core_, core_->a, spaces.from_a, spaces.a, stream);
    launch_unpack(*core_, core_->b, spaces.from_b, spaces.b, stream);
    args.a = spaces.a, args.b = spaces.b;
    launch_gemm(*core_, args);
  } else if (model_ == DeviceModel::hardware) {
    launch_chains(instruction_, raw_, spaces.lines_a, spaces.lines_b, args);
  } else if (trees_) {
    launch_trees(*trees_, raw_, args);
  } else {
    launch_plain_gemm(spec_, raw_, args);
  }
  if (finishes())
    launch_epilogue({.epilogue = *problem_.epilogue,
                     .sum_format = spec_.d.id,
                     .sums = spaces.sums,
                     .c = problem_.c,
                     .d = problem_.d,
                     .batch = problem_.batch,
                     .m = problem_.m,
                     .n = problem_.n,
                     .factors = factors_},
                    stream);
}

}  // namespace mmaudit::device
