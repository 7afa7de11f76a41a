#include "operands.hpp"

#include "campaign/campaign_kernels.hpp"
#include "mmaudit/architecture.hpp"

namespace mmaudit::sweeps {
namespace {

using device::Buffer;
using device::cuda_check;

std::unique_ptr<Buffer> upload(const std::vector<std::byte>& bytes) {
  auto buffer = std::make_unique<Buffer>(bytes.size());
  device::copy_in(buffer->data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace

Operands::Operands(const device::DeviceInfo& device, const Instruction& instruction, Init init)
    : instruction_(instruction) {
  const Instruction& is = instruction_;
  const Tiles tiles = make_tiles(is, init, kTiles);
  a_registers_ = upload(register_image(fragment_a(is), is.a, tiles.a, kTiles));
  if (is.op == Op::wgmma) {
    a_ = upload(shared_image(is.a, tiles.a, kTiles, is.m, is.k, false));
    b_ = upload(shared_image(is.b, tiles.b, kTiles, is.k, is.n, true));
  } else {
    b_ = upload(register_image(fragment_b(is), is.b, tiles.b, kTiles));
  }
  const std::vector<std::byte> c = register_image(fragment_c(is), is.c, tiles.c, kTiles);
  d_bytes_ = c.size() / kTiles;
  c_ = upload(c);
  run_model(device, tiles);
}

const std::vector<std::byte>& Operands::expected(int steps) const {
  return steps == kFewSteps ? few_ : steps == kManySteps ? many_ : none_;
}

/// The same kernel that the live check runs; D becomes the next C in place.
void Operands::run_model(const device::DeviceInfo& device, const Tiles& tiles) {
  const Architecture* architecture = find_architecture(device.compute_capability);
  const DatapathRow* row = architecture == nullptr ? nullptr : find_datapath(*architecture, instruction_);
  if (row == nullptr || instruction_.c != instruction_.d) return;
  const auto a = upload(tiles.a), b = upload(tiles.b), d = upload(tiles.c);
  const DotPlan plan = make_plan(instruction_, row->model);
  const device::TileExtents extents{instruction_.m, instruction_.n, instruction_.k};
  const device::KernelArgs args{
      .a = a->data(), .b = b->data(), .c = d->data(), .d = d->data(), .tiles = kTiles, .n = instruction_.n};
  const auto image = [&] {
    std::vector<std::byte> out(tiles.c.size());
    cuda_check(cudaDeviceSynchronize(), "running the model");
    device::copy_out(out.data(), d->data(), out.size());
    return register_image(fragment_c(instruction_), instruction_.d, out, kTiles);
  };
  for (int step = 1; step <= kManySteps; ++step) {
    device::launch_model(plan, extents, args, nullptr);
    if (step == kFewSteps) few_ = image();
  }
  cuda_check(cudaGetLastError(), "launching the model");
  many_ = image();
}

}  // namespace mmaudit::sweeps
