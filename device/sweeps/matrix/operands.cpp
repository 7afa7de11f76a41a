#include "sweeps/matrix/operands.hpp"

#include <cstring>

#include "check/tile_products.hpp"
#include "mmaudit/model/architecture.hpp"
#include "sweeps/engine/readings.hpp"
#include "sweeps/engine/workbench.hpp"
#include "sweeps/matrix/matrix_benchmark.hpp"

namespace mmaudit::sweeps {
namespace {

using device::Buffer;
using device::cuda_check;

std::unique_ptr<Buffer> upload(const std::vector<std::byte>& bytes) {
  auto buffer = std::make_unique<Buffer>(bytes.size());
  device::copy_in(buffer->data(), bytes.data(), bytes.size());
  return buffer;
}

/// To nearest even, as the totals of promoted sums are.
void add_binary32(std::vector<std::byte>& totals, const std::vector<std::byte>& sums) {
  for (std::size_t i = 0; i < totals.size(); i += sizeof(float)) {
    float total = 0, sum = 0;
    std::memcpy(&total, &totals[i], sizeof(float));
    std::memcpy(&sum, &sums[i], sizeof(float));
    total += sum;
    std::memcpy(&totals[i], &total, sizeof(float));
  }
}

}  // namespace

Operands::Operands(const device::DeviceInfo& device, const Instruction& instruction, Init init, int promote)
    : instruction_(instruction) {
  const Instruction& is = instruction_;
  const Tiles tiles = make_tiles(is, init, kTiles);
  if (is.op == Op::wmma) {
    a_registers_ = upload(line_image(is, device::WmmaOperand::a, tiles.a, kTiles, false));
    b_ = upload(line_image(is, device::WmmaOperand::b, tiles.b, kTiles, true));
  } else {
    a_registers_ = upload(register_image(fragment_a(is), is.a, tiles.a, kTiles));
    if (is_wgmma(is.op)) {
      a_ = upload(shared_image(is.a, tiles.a, kTiles, is.m, is.stored_k(), false));
      b_ = upload(shared_image(is.b, tiles.b, kTiles, is.k, is.n, true));
    } else {
      b_ = upload(register_image(fragment_b(is), is.b, tiles.b, kTiles));
    }
  }
  if (is_sparse(is.op)) metadata_ = upload(metadata_image(is, tiles));
  const std::vector<std::byte> c = image_of_c(tiles.c);
  d_bytes_ = c.size() / kTiles;
  c_ = upload(c);
  run_model(device, tiles, promote);
}

const std::vector<std::byte>& Operands::expected(int steps) const {
  return steps == kFewSteps ? few_ : steps == kManySteps ? many_ : none_;
}

std::vector<std::byte> Operands::image_of_c(const std::vector<std::byte>& tiles) const {
  return instruction_.op == Op::wmma
             ? line_image(instruction_, device::WmmaOperand::c, tiles, kTiles, false)
             : register_image(fragment_c(instruction_), instruction_.c, tiles, kTiles);
}

/// The same kernel that the live check runs; D becomes the next C in place.
void Operands::run_model(const device::DeviceInfo& device, const Tiles& tiles, int promote) {
  const Architecture* architecture = find_architecture(device.compute_capability);
  const DatapathEntry* entry = architecture == nullptr ? nullptr : find_datapath(*architecture, instruction_);
  if (entry == nullptr || instruction_.c != instruction_.d) return;
  const auto a = upload(tiles.a), b = upload(tiles.b), d = upload(tiles.c);
  const DotPlan plan = make_plan(instruction_, entry->datapath);
  std::unique_ptr<Buffer> metadata;
  if (!tiles.metadata.empty()) {
    metadata = std::make_unique<Buffer>(tiles.metadata.size());
    device::copy_in(metadata->data(), tiles.metadata.data(), tiles.metadata.size());
  }
  device::TileProductArgs args = device::tile_product_args(instruction_);
  args.a = a->data();
  args.b = b->data();
  args.c = d->data();
  args.metadata = metadata ? metadata->data<std::uint8_t>() : nullptr;
  args.blocks = kTiles;
  args.side = 1;
  const auto read = [&] {
    std::vector<std::byte> out(tiles.c.size());
    cuda_check(cudaDeviceSynchronize(), "running the model");
    device::copy_out(out.data(), d->data(), out.size());
    return out;
  };
  const int group = promote / instruction_.k;
  std::vector<std::byte> totals = tiles.c;
  for (int step = 1; step <= kManySteps; ++step) {
    if (group > 0) args.c = (step - 1) % group == 0 ? nullptr : d->data();
    device::launch_model(plan, args, nullptr, d->data());
    if (group > 0 && step % group == 0) add_binary32(totals, read());
    if (step == kFewSteps) few_ = image_of_c(group > 0 ? totals : read());
  }
  many_ = image_of_c(group > 0 ? totals : read());
}

Setup matrix_setup(const Instruction& instruction, const Point& point, Workbench* bench) {
  const Operands& operands = bench->operands(
      instruction, point.axis("init") == "zero" ? Init::zero : Init::random, point.number("promote"));
  Setup setup;
  setup.args = {.a = operands.a(!is_wgmma(instruction.op) || point.axis("a") == "registers"),
                .b = operands.b(),
                .c = operands.c(),
                .metadata = operands.metadata(),
                .tiles = kTiles};
  setup.warps_per_slot = lanes_of(instruction) / kWarpLanes;
  setup.slot_bytes = operands.d_bytes();
  const std::size_t width = spec_of(instruction.d).storage_bytes();
  setup.check = [&operands, width](const ReadResult& read, int slots_per_block, int steps, Measurement& out) {
    if (const std::vector<std::byte>& expected = operands.expected(steps); !expected.empty())
      compare_tiles(read(), slots_per_block, expected, operands.d_bytes(), width, out);
  };
  return setup;
}

}  // namespace mmaudit::sweeps
