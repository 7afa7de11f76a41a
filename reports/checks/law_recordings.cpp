#include "law_recordings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mmaudit/generators/tiles.hpp"
#include "verify.hpp"

namespace mmaudit::checks {
namespace {

std::vector<laws::Tile> tiles_of(const corpus::Recording& recording, const Instruction& inst) {
  std::vector<laws::Tile> tiles;
  const auto take = [](const corpus::Tensor& from, Format format, std::size_t tile,
                       std::vector<std::uint64_t>& to) {
    const std::size_t bytes = spec_of(format).storage_bytes();
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = gen::load_bits(from.data, bytes, tile * to.size() + i);
  };
  for (std::size_t t = 0; t < recording.tiles; ++t) {
    laws::Tile& tile = tiles.emplace_back(inst, recording.modifiers[t]);
    tile.d.resize(tile.c.size());
    take(recording.a, inst.a, t, tile.a);
    take(recording.b, inst.b, t, tile.b);
    take(recording.c, inst.c, t, tile.c);
    take(recording.d, inst.d, t, tile.d);
    const auto first = recording.metadata.begin() + static_cast<std::ptrdiff_t>(t * tile.metadata.size());
    std::copy_n(first, tile.metadata.size(), tile.metadata.begin());
  }
  return tiles;
}

/// Tiles at equal distances, with about `dots` dot products: some of every input class.
std::vector<laws::Tile> sample(const std::vector<laws::Tile>& tiles, std::uint64_t dots) {
  const std::uint64_t each = std::max<std::size_t>(tiles.front().c.size(), 1);
  const std::uint64_t step =
      std::max<std::uint64_t>(tiles.size() * each / std::max<std::uint64_t>(dots, 1), 1);
  std::vector<laws::Tile> some;
  for (std::size_t t = 0; t < tiles.size(); t += step) some.push_back(tiles[t]);
  return some;
}

}  // namespace

RecordedLaws check_recorded_laws(const std::filesystem::path& folder, const std::vector<std::string>& filters,
                                 const std::vector<const laws::Law*>& chosen,
                                 const Architecture& architecture, std::uint64_t slow_dots,
                                 Progress& progress) {
  RecordedLaws out;
  out.results.resize(chosen.size());
  std::set<std::string> gpus;
  const std::size_t files = corpus::find_recordings(folder).size();
  for_each_recording(
      folder, filters, progress,
      [&](const corpus::Recording& recording, const Instruction& inst, const std::string& file) {
        if (&architecture_of_recording(recording, file) != &architecture) return;
        const laws::Subject subject(architecture, inst,
                                    datapath_of_recording(recording, inst, file).datapath);
        const std::vector<laws::Tile> tiles = tiles_of(recording, inst);
        const std::vector<laws::Tile> some = sample(tiles, slow_dots / files + 1);
        for (std::size_t law = 0; law < chosen.size(); ++law)
          out.results[law].push_back(
              laws::check_recorded(*chosen[law], subject, chosen[law]->slow ? some : tiles));
        gpus.insert(fmt::format("{} (driver {})", recording.provenance.gpu, recording.provenance.driver));
      });
  if (gpus.empty())
    throw InputError(fmt::format(
        "--inst: found no recording of such an instruction on {}, allowed: part of a recorded instruction's "
        "name",
        architecture.name));
  for (const std::string& gpu : gpus) out.gpus += (out.gpus.empty() ? "" : ", ") + gpu;
  return out;
}

}  // namespace mmaudit::checks
