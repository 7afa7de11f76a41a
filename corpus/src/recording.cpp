#include "mmaudit/corpus/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/tile_batch.hpp"
#include "recording_metadata.hpp"
#include "refuse.hpp"
#include "safetensors_header.hpp"

namespace mmaudit::corpus {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 5> kTensorNames{"A", "B", "C", "D", "modifiers"};
/// Of sparse and of block-scaled instructions only.
constexpr std::array<std::string_view, 3> kSideNames{"metadata", "scale_a", "scale_b"};
constexpr std::size_t kModifiers = 4;
using Views = std::vector<TensorView>;

TensorView view_of(std::string_view name, const Tensor& tensor) {
  return {name, tensor.dtype, tensor.shape, tensor.data};
}

bool is_present(const Tensor& tensor) { return !tensor.shape.empty() || !tensor.data.empty(); }

/// The recording's tensors as the file holds them. `modifiers_shape` and `recording` are to outlive the
/// result.
Views views_of(const Recording& recording, const std::array<std::uint64_t, 1>& modifiers_shape) {
  Views views = {
      view_of("A", recording.a), view_of("B", recording.b), view_of("C", recording.c),
      view_of("D", recording.d),
      TensorView{"modifiers", DType::u8, modifiers_shape, std::as_bytes(std::span(recording.modifiers))}};
  if (!recording.metadata.empty())
    views.push_back({"metadata", DType::u8, recording.a.shape, std::as_bytes(std::span(recording.metadata))});
  if (is_present(recording.scale_a)) views.push_back(view_of("scale_a", recording.scale_a));
  if (is_present(recording.scale_b)) views.push_back(view_of("scale_b", recording.scale_b));
  return views;
}

/// What the checksum covers: the number of metadata pairs, each pair in the order of its key, then each
/// tensor's name, dtype, rank, extents and data in the order of kTensorNames and kSideNames. Numbers are
/// 64-bit little-endian; a length goes before every text and data, so that no two different files feed the
/// same bytes.
class CanonicalChecksum {
 public:
  void number(std::uint64_t value) { checksum_.update(std::as_bytes(std::span(&value, 1))); }
  void bytes(std::span<const std::byte> data) {
    number(data.size());
    checksum_.update(data);
  }
  void text(std::string_view data) { bytes(std::as_bytes(std::span(data.data(), data.size()))); }
  [[nodiscard]] std::string hex() const { return checksum_.hex(); }

 private:
  Checksum checksum_;
};

std::string checksum_over(const Metadata& metadata, const Views& tensors) {
  CanonicalChecksum checksum;
  checksum.number(metadata.size());
  for (const auto& [key, value] : metadata) {
    checksum.text(key);
    checksum.text(value);
  }
  for (const TensorView& tensor : tensors) {
    checksum.text(tensor.name);
    checksum.text(safetensors_name(tensor.dtype));
    checksum.number(tensor.shape.size());
    for (const std::uint64_t extent : tensor.shape) checksum.number(extent);
    checksum.bytes(tensor.data);
  }
  return checksum.hex();
}

void check_tile_tensor(const TensorView& tensor, std::span<const std::uint64_t> expected,
                       const std::string& file) {
  const bool raw = tensor.dtype == DType::u8 || tensor.dtype == DType::u16 || tensor.dtype == DType::u32 ||
                   tensor.dtype == DType::u64;
  if (!raw)
    refuse("{}: {} dtype: found {}, allowed: U8, U16, U32 or U64", file, tensor.name,
           safetensors_name(tensor.dtype));
  if (!std::equal(tensor.shape.begin(), tensor.shape.end(), expected.begin(), expected.end()))
    refuse("{}: {} shape: found {}, allowed: {}", file, tensor.name, to_string(tensor.shape),
           to_string(expected));
  check_writable(tensor, file);
}

/// Metadata as the recording's instruction reads it. `shape` is A's.
void check_positions(const Recording& recording, const std::string& file) {
  const auto instruction = find_instruction(recording.instruction);
  const bool sparse = instruction && is_sparse(instruction->op);
  if (!sparse && !recording.metadata.empty())
    refuse("{}: metadata: found some, allowed: none: the instruction is not sparse", file);
  if (!sparse) return;
  const auto& shape = recording.a.shape;
  if (shape[1] != static_cast<std::uint64_t>(instruction->m) ||
      shape[2] != static_cast<std::uint64_t>(instruction->stored_k()))
    refuse("{}: A shape: found {}, allowed: [{}, {}, {}]", file, to_string(shape), recording.tiles,
           instruction->m, instruction->stored_k());
  const std::string reason = why_bad_metadata(*instruction, recording.metadata, recording.tiles);
  if (!reason.empty()) throw InputError(fmt::format("{}: metadata: {}", file, reason));
}

/// Scales as the recording's instruction reads them: every byte is one.
void check_scales(const Recording& recording, const std::string& file) {
  const auto inst = find_instruction(recording.instruction);
  if (!inst || scales_of(*inst) == 0) {
    for (const auto& [name, scales] :
         {std::pair{"scale_a", &recording.scale_a}, {"scale_b", &recording.scale_b}})
      if (is_present(*scales))
        refuse("{}: {}: found some, allowed: none: the instruction is not a known block-scaled one", file,
               name);
    return;
  }
  const std::uint64_t tiles = recording.tiles;
  const TileExtents each(*inst);
  const auto require = [&](const TensorView& tensor, std::uint64_t rows, std::uint64_t columns, bool bytes) {
    if (bytes && tensor.dtype != DType::u8)
      refuse("{}: {} dtype: found {}, allowed: U8", file, tensor.name, safetensors_name(tensor.dtype));
    check_tile_tensor(tensor, std::array{tiles, rows, columns}, file);
  };
  require(view_of("A", recording.a), each.m, each.stored, false);
  require(view_of("B", recording.b), each.k, each.n, false);
  require(view_of("scale_a", recording.scale_a), each.m, each.blocks, true);
  require(view_of("scale_b", recording.scale_b), each.blocks, each.n, true);
}

/// Everything the struct's comment promises.
void check_recording(const Recording& recording, const std::string& file) {
  check_metadata(recording, file);
  const auto& a = recording.a.shape;
  const auto& b = recording.b.shape;
  const std::uint64_t tiles = recording.tiles;
  if (tiles == 0) refuse("{}: tiles: found 0, allowed: at least 1", file);
  if (a.size() != 3 || a[1] == 0 || a[2] == 0)
    refuse("{}: A shape: found {}, allowed: [{}, M, K] of at least 1", file, to_string(a), tiles);
  const std::uint64_t depth = recording.metadata.empty() ? a[2] : 2 * a[2];
  if (b.size() != 3 || b[2] == 0)
    refuse("{}: B shape: found {}, allowed: [{}, {}, N]", file, to_string(b), tiles, depth);
  const std::array<std::uint64_t, 1> modifiers_shape{recording.modifiers.size()};
  const Views views = views_of(recording, modifiers_shape);
  const std::array<std::uint64_t, 3> result{tiles, a[1], b[2]};
  check_tile_tensor(views[0], std::array{tiles, a[1], a[2]}, file);
  check_tile_tensor(views[1], std::array{tiles, depth, b[2]}, file);
  check_tile_tensor(views[2], result, file);
  check_tile_tensor(views[3], result, file);
  check_tile_tensor(views[kModifiers], std::array{tiles}, file);
  for (const std::uint8_t modifier : recording.modifiers) {
    if ((modifier & ~kModifierBits) != 0)
      refuse("{}: modifiers: found {}, allowed: bits of {}", file, fmt::format("{:#04x}", modifier),
             fmt::format("{:#04x}", kModifierBits));
  }
  check_positions(recording, file);
  check_scales(recording, file);
}

/// Null when the file has no such tensor.
Tensor* named(SafetensorsFile& file, std::string_view name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [name](const Tensor& one) { return one.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

std::vector<std::uint8_t> bytes_of(const TensorView& tensor) {
  std::vector<std::uint8_t> bytes(tensor.data.size());
  // memcpy may not be given the null pointer of an empty vector.
  if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data.data(), bytes.size());
  return bytes;
}

}  // namespace

Recording recording_of(TileBatch tiles, std::vector<FamilyRange> families, Provenance provenance,
                       std::string generator) {
  const Instruction& inst = tiles.instruction;
  const TileExtents each(inst);
  const auto tensor = [&](const char* name, std::vector<std::byte> data, std::uint64_t rows,
                          std::uint64_t columns, Format format) {
    return Tensor{name, raw_type(spec_of(format)), {tiles.tiles, rows, columns}, std::move(data)};
  };
  Recording recording;
  recording.provenance = std::move(provenance);
  recording.instruction = name_of(inst);
  recording.generator = std::move(generator);
  recording.families = std::move(families);
  recording.tiles = tiles.tiles;
  recording.a = tensor("A", std::move(tiles.a), each.m, each.stored, inst.a);
  recording.b = tensor("B", std::move(tiles.b), each.k, each.n, inst.b);
  recording.c = tensor("C", std::move(tiles.c), each.m, each.n, inst.c);
  recording.d = tensor("D", std::move(tiles.d), each.m, each.n, inst.d);
  if (each.blocks != 0) {
    recording.scale_a = make_tensor("scale_a", DType::u8, {tiles.tiles, each.m, each.blocks},
                                    std::span<const std::uint8_t>(tiles.scale_a));
    recording.scale_b = make_tensor("scale_b", DType::u8, {tiles.tiles, each.blocks, each.n},
                                    std::span<const std::uint8_t>(tiles.scale_b));
  }
  recording.modifiers = std::move(tiles.modifiers);
  recording.metadata = std::move(tiles.metadata);
  return recording;
}

std::string checksum_of(const Recording& recording) {
  const std::array<std::uint64_t, 1> modifiers_shape{recording.modifiers.size()};
  return checksum_over(metadata_of(recording), views_of(recording, modifiers_shape));
}

void write_recording(const fs::path& path, const Recording& recording) {
  check_recording(recording, label_of(path));
  Metadata metadata = metadata_of(recording);
  metadata[kChecksumKey] = checksum_of(recording);
  const std::array<std::uint64_t, 1> modifiers_shape{recording.modifiers.size()};
  write_safetensors_views(path, metadata, views_of(recording, modifiers_shape));
}

Recording read_recording(const fs::path& path) {
  const std::string label = label_of(path);
  SafetensorsFile file = read_safetensors(path);
  Metadata metadata = std::move(file.metadata);
  const std::string& format = metadata_value(metadata, kFormatKey, label);
  if (format != kFormat)
    refuse("{}: {}: found '{}', allowed: {}", label, kFormatKey, printable(format), kFormat);
  // Before the checksum, which another version may compute otherwise.
  const std::string& version = metadata_value(metadata, kVersionKey, label);
  if (version != kVersion)
    refuse("{}: {}: found '{}', allowed: {}", label, kVersionKey, printable(version), kVersion);

  const std::string expected = metadata_value(metadata, kChecksumKey, label);
  metadata.erase(kChecksumKey);
  Views views;
  for (const std::string_view name : kTensorNames) views.push_back(view_of(name, file.at(name, label)));
  std::array<const Tensor*, kSideNames.size()> sides{};
  for (std::size_t i = 0; i < sides.size(); ++i)
    if ((sides[i] = named(file, kSideNames[i])) != nullptr)
      views.push_back(view_of(kSideNames[i], *sides[i]));
  if (views.size() != file.tensors.size()) {
    std::vector<std::string_view> names;
    for (const Tensor& tensor : file.tensors) names.push_back(tensor.name);
    refuse(
        "{}: tensors: found {}, allowed: A, B, C, D, modifiers; metadata if it is sparse; scale_a, scale_b "
        "if it is block-scaled",
        label, list_names(names));
  }
  const std::string found = checksum_over(metadata, views);
  if (found != expected)
    throw DamagedRecording(fmt::format("{}: checksum: found {}, expected {} (the file is damaged)", label,
                                       found, printable(expected)));

  Recording recording;
  parse_metadata(metadata, label, recording);
  if (metadata != metadata_of(recording))
    refuse("{}: metadata: found {} fields, allowed: the fields of a recording and no others", label,
           metadata.size());
  const TensorView& modifiers = views[kModifiers];
  if (modifiers.dtype != DType::u8 || modifiers.shape.size() != 1)
    refuse("{}: modifiers: found {} {}, allowed: U8, one a tile", label, safetensors_name(modifiers.dtype),
           to_string(modifiers.shape));
  recording.modifiers = bytes_of(modifiers);
  if (sides[0] != nullptr) {
    const TensorView positions = view_of(kSideNames[0], *sides[0]);
    if (positions.dtype != DType::u8 || positions.data.empty() ||
        !std::equal(positions.shape.begin(), positions.shape.end(), views[0].shape.begin(),
                    views[0].shape.end()))
      refuse("{}: metadata: found {} {}, allowed: U8 of A's shape", label, safetensors_name(positions.dtype),
             to_string(positions.shape));
    recording.metadata = bytes_of(positions);
  }
  for (const auto& [name, member] : {std::pair{"A", &Recording::a},
                                     {"B", &Recording::b},
                                     {"C", &Recording::c},
                                     {"D", &Recording::d},
                                     {"scale_a", &Recording::scale_a},
                                     {"scale_b", &Recording::scale_b}})
    if (Tensor* const tensor = named(file, name)) recording.*member = std::move(*tensor);
  recording.tiles = recording.a.shape.empty() ? 0 : recording.a.shape.front();
  check_recording(recording, label);
  return recording;
}

std::vector<fs::path> find_recordings(const fs::path& folder) {
  const std::string label = label_of(folder);
  std::vector<fs::path> found;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    const bool compressed = path.extension() == ".zst";
    if ((compressed ? path.stem() : path).extension() == ".safetensors" && entry->is_regular_file(error))
      found.push_back(entry->path());
    if (error) break;
  }
  if (error) throw InputError(fmt::format("{}: cannot read the folder: {}", label, error.message()));
  if (found.empty())
    refuse("{}: folder: found no *.safetensors or *.safetensors.zst, allowed: at least one recording", label);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace mmaudit::corpus
