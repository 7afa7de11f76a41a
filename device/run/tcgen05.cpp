#include "run/tcgen05.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mmaudit/refusal.hpp"
#include "mmaudit/tensor_memory/interpreter.hpp"
#include "mmaudit/tensor_memory/tile_kernel.hpp"
#include "run/cuda_check.hpp"
#include "run/modifier_groups.hpp"
#include "run/text_kernel.hpp"

namespace mmaudit::device {
namespace {

/// Device memory that a launch takes at most, about.
constexpr std::size_t kPartBytes = std::size_t{64} << 20;

std::string make_kernel(const DeviceInfo& device, const Instruction& instruction, std::uint8_t modifiers,
                        std::string_view form, tmem::TileKernel& kernel) {
  const tmem::TileForm* const found = tmem::find_tile_form(form);
  if (found == nullptr) return refusal("form: found {}, allowed: {}", form, names_of(tmem::kTileForms));
  const bool b200 = device.compute_capability == 100, b300 = device.compute_capability == 103;
  if (!b200 && !b300)
    return name_of(instruction) + " runs on compute capability 10.0 and 10.3 only, " + device.name + " has " +
           capability_text(device.compute_capability);
  const std::string reason =
      tmem::make_tile_kernel(instruction, modifiers, b200 ? "sm_100a" : "sm_103a", kernel, *found);
  return reason.empty() ? "" : name_of(instruction) + ", " + std::string(form) + ": " + reason;
}

/// The kernel on the current device; translated once per program.
const TextKernel& loaded(const DeviceInfo& device, const tmem::TileKernel& kernel) {
  static std::mutex mutex;
  static auto& kernels = *new std::map<std::pair<int, std::string>, std::unique_ptr<TextKernel>>;
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  const std::lock_guard lock(mutex);
  auto& found = kernels[{device.ordinal, kernel.text}];
  if (!found) found = std::make_unique<TextKernel>(kernel.text, tmem::kTileKernelName);
  return *found;  // never unloaded: the driver may go before the program's last line
}

/// Tiles `tiles` of the batch, all with the kernel's modifiers.
void run_part(const tmem::TileKernel& kernel, const TextKernel& text, const TileView& batch,
              std::span<const std::uint32_t> tiles) {
  std::vector<std::uint8_t> images(tiles.size() * kernel.tile_bytes());
  std::vector<std::uint32_t> words(tiles.size() * kernel.words());
  const auto part = [](auto& all, std::size_t size, std::size_t i) {
    return std::span(all).subspan(i * size, size);
  };
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    tmem::write_image(kernel, batch, tiles[i], part(images, kernel.tile_bytes(), i));
    tmem::write_addends(kernel, batch, tiles[i], part(words, kernel.words(), i));
  }
  const std::size_t bytes = words.size() * sizeof(std::uint32_t);
  const Buffer image(images.size()), addend(bytes), result(bytes);
  copy_in(image.data(), images.data(), images.size());
  copy_in(addend.data(), words.data(), bytes);
  poison(result.data(), bytes);
  const auto address = [](const Buffer& buffer) { return reinterpret_cast<std::uint64_t>(buffer.data()); };
  const std::uint64_t parameters[] = {address(image), address(addend), address(result)};
  text.launch(static_cast<unsigned>(tiles.size()) * static_cast<unsigned>(kernel.blocks()), tmem::kThreads,
              parameters);
  cuda_check(cudaDeviceSynchronize(), "running a kernel");
  copy_out(words.data(), result.data(), bytes);
  for (std::size_t i = 0; i < tiles.size(); ++i)
    tmem::read_results(kernel, part(words, kernel.words(), i), batch, tiles[i]);
}

}  // namespace

std::string why_not_tcgen05(const DeviceInfo& device, const Instruction& instruction, std::uint8_t modifiers,
                            std::string_view form) {
  tmem::TileKernel kernel;
  if (std::string reason = make_kernel(device, instruction, modifiers, form, kernel); !reason.empty())
    return reason;
  try {
    loaded(device, kernel);
  } catch (const EnvironmentError& error) {
    return name_of(instruction) + ": " + error.what();
  }
  return {};
}

void run_tcgen05(const DeviceInfo& device, const Instruction& instruction, const TileView& batch,
                 const RunOptions& options) {
  if (options.repetitions != 1) throw EnvironmentError(refusal("tcgen05: found repetitions, allowed: one"));
  const Groups groups = group_by_modifiers(batch.modifiers, batch.tiles);
  for (std::size_t byte = 0; byte < groups.size(); ++byte) {
    const std::vector<std::uint32_t>& tiles = groups[byte];
    if (tiles.empty()) continue;
    tmem::TileKernel kernel;
    if (const std::string reason =
            make_kernel(device, instruction, static_cast<std::uint8_t>(byte), options.form, kernel);
        !reason.empty())
      throw EnvironmentError(reason);
    const TextKernel& text = loaded(device, kernel);
    const std::size_t most =
        std::max<std::size_t>(1, kPartBytes / (kernel.tile_bytes() + 8 * kernel.words()));
    for (std::size_t first = 0; first < tiles.size(); first += most)
      run_part(kernel, text, batch, std::span(tiles).subspan(first, std::min(most, tiles.size() - first)));
  }
}

}  // namespace mmaudit::device
