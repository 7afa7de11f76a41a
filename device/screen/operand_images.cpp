#include "mmaudit/fragment.hpp"
#include "mmaudit/screen/images.hpp"
#include "sweeps/matrix/images.hpp"

namespace mmaudit::screen {

Images make_images(const Work& work, const Inputs& inputs) {
  const Instruction& inst = work.instruction;
  const bool a_in_shared = is_wgmma(inst.op) && !work.registers;
  Images images;
  images.a = a_in_shared ? sweeps::shared_image(inst.a, inputs.tiles.a, inst.m, inst.stored_k(), false)
                         : sweeps::register_image(fragment_a(inst), inst.a, inputs.tiles.a);
  images.b = is_wgmma(inst.op) ? sweeps::shared_image(inst.b, inputs.tiles.b, inst.k, inst.n, true)
                               : sweeps::register_image(fragment_b(inst), inst.b, inputs.tiles.b);
  if (is_sparse(inst.op)) images.metadata = sweeps::metadata_image(inputs.tiles);
  images.d = sweeps::register_image(fragment_d(inst), inst.d, inputs.d);
  return images;
}

void join_tiles(Images& images) {
  const auto of_a = static_cast<std::ptrdiff_t>(images.a.size() / kTiles),
             of_b = static_cast<std::ptrdiff_t>(images.b.size() / kTiles);
  std::vector<std::byte> joined;
  for (int tile = 0; tile < kTiles; ++tile) {
    joined.insert(joined.end(), images.a.begin() + tile * of_a, images.a.begin() + (tile + 1) * of_a);
    joined.insert(joined.end(), images.b.begin() + tile * of_b, images.b.begin() + (tile + 1) * of_b);
  }
  images.a = std::move(joined);
  images.b.clear();
}

}  // namespace mmaudit::screen
