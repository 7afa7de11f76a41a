#include "sweeps/matrix/operands.hpp"

#include <cstring>

#include "check/tile_products.hpp"
#include "mmaudit/model/architecture.hpp"
#include "sweeps/engine/readings.hpp"
#include "sweeps/matrix/matrix_benchmark.hpp"
#include "sweeps/matrix/rotation.hpp"

namespace mmaudit::sweeps {
namespace {

using device::Buffer;
using device::uploaded;

/// Twice in a row where any of the tiles may come first.
template <typename Element>
Buffer upload_tiles(std::vector<Element> elements, bool twice) {
  if (twice) {
    const std::vector<Element> once = elements;
    elements.insert(elements.end(), once.begin(), once.end());
  }
  return uploaded(elements);
}

/// To nearest even, as the totals of promoted sums are.
void add_binary32(Bytes& totals, const Bytes& sums) {
  for (std::size_t i = 0; i < totals.size(); i += sizeof(float)) {
    float total = 0, sum = 0;
    std::memcpy(&total, &totals[i], sizeof(float));
    std::memcpy(&sum, &sums[i], sizeof(float));
    total += sum;
    std::memcpy(&totals[i], &total, sizeof(float));
  }
}

Bytes image_of_c(const Instruction& is, const Bytes& tiles) {
  return is.op == Op::wmma ? line_image(is, device::WmmaOperand::c, tiles, false)
                           : register_image(fragment_c(is), is.c, tiles);
}

/// D after kFewSteps and kManySteps by the plain model's kernel of the live check; D becomes the next C in
/// place.
void run_model(const Datapath& datapath, const TileBatch& tiles, int promote, bool a_rotates, Operands& out) {
  const Instruction& is = tiles.instruction;
  const bool rotating = rotates(is);
  a_rotates = a_rotates || rotating;
  static_assert(kRotation == kTiles);
  const Buffer a = upload_tiles(tiles.a, a_rotates), b = upload_tiles(tiles.b, rotating),
               d = uploaded(tiles.c), metadata = upload_tiles(tiles.metadata, rotating);
  const DotSpec spec = make_dot_spec(is, datapath);
  device::TileProductArgs args = device::tile_product_args(is);
  args.c = d.data();
  args.blocks = kTiles;
  args.side = 1;
  const auto read = [&] {
    Bytes sums(tiles.c.size());
    device::cuda_check(cudaDeviceSynchronize(), "running the model");
    device::copy_out(sums.data(), d.data(), sums.size());
    return sums;
  };
  const int group = promote / is.k;
  Bytes totals = tiles.c;
  for (int step = 1; step <= kManySteps; ++step) {
    const auto turn = static_cast<std::size_t>((step - 1) % kRotation);
    const std::size_t tile = rotating ? turn : 0;
    args.a = a.data<std::byte>() + (a_rotates ? turn : 0) * (tiles.a.size() / kTiles);
    args.b = b.data<std::byte>() + tile * (tiles.b.size() / kTiles);
    args.metadata = metadata.data<std::uint8_t>() + tile * (tiles.metadata.size() / kTiles);
    if (group > 0) args.c = (step - 1) % group == 0 ? nullptr : d.data();
    device::launch_model(spec, args, nullptr, d.data());
    if (group > 0 && step % group == 0) add_binary32(totals, read());
    if (step == kFewSteps || step == kManySteps)
      (step == kFewSteps ? out.few : out.many) = image_of_c(is, group > 0 ? totals : read());
  }
}

}  // namespace

Operands::Operands(const device::DeviceInfo& device, const Instruction& is, Init init, int promote,
                   bool a_rotates) {
  const TileBatch tiles = make_tiles(is, init, kTiles);
  if (is.op == Op::wmma) {
    a_registers = uploaded(line_image(is, device::WmmaOperand::a, tiles.a, false));
    b = uploaded(line_image(is, device::WmmaOperand::b, tiles.b, true));
  } else {
    a_registers = uploaded(register_image(fragment_a(is), is.a, tiles.a));
    if (is_wgmma(is.op)) a = uploaded(shared_image(is.a, tiles.a, is.m, is.stored_k(), false));
    b = uploaded(is_wgmma(is.op) ? shared_image(is.b, tiles.b, is.k, is.n, true)
                                 : register_image(fragment_b(is), is.b, tiles.b));
  }
  if (is_sparse(is.op)) metadata = uploaded(metadata_image(tiles));
  const Bytes image = image_of_c(is, tiles.c);
  d_bytes = image.size() / kTiles;
  c = uploaded(image);
  const Architecture* architecture = find_architecture(device.compute_capability);
  const DatapathEntry* entry = architecture == nullptr ? nullptr : find_datapath(*architecture, is);
  if (entry != nullptr && is.c == is.d) run_model(entry->datapath, tiles, promote, a_rotates, *this);
}

const Operands& Workbench::operands(const Instruction& instruction, Init init, int promote, bool a_rotates) {
  Instruction open = instruction;
  open.n = 0;
  if (open != instruction_) kept_.clear();
  instruction_ = open;
  auto& operands = kept_[{instruction.n, init, promote, a_rotates}];
  if (!operands) operands = std::make_unique<Operands>(device_, instruction, init, promote, a_rotates);
  return *operands;
}

Setup matrix_setup(const Instruction& instruction, const Point& point, Workbench* bench, bool a_rotates) {
  const Operands& operands =
      bench->operands(instruction, point.axis("init") == "zero" ? Init::zero : Init::random,
                      point.number("promote"), a_rotates);
  const bool a_from_shared = is_wgmma(instruction.op) && point.axis("a") != "registers";
  Setup setup;
  setup.args = {.a = (a_from_shared ? operands.a : operands.a_registers).data(),
                .b = operands.b.data(),
                .c = operands.c.data(),
                .metadata = operands.metadata.data(),
                .tiles = kTiles};
  setup.warps_per_slot = lanes_of(instruction) / kWarpLanes;
  setup.slot_bytes = operands.d_bytes;
  const std::size_t width = spec_of(instruction.d).storage_bytes();
  setup.check = [&operands, width](const ReadResult& read, int slots_per_block, int steps, Measurement& out) {
    const Bytes& expected = steps == kFewSteps ? operands.few : operands.many;
    if ((steps == kFewSteps || steps == kManySteps) && !expected.empty())
      compare_tiles(read(), slots_per_block, expected, operands.d_bytes, width, out);
  };
  return setup;
}

}  // namespace mmaudit::sweeps
