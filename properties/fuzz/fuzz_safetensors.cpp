// The first byte says how the rest is meant: as a safetensors file, as a zstd frame that should hold one, or
// as what such a frame is made of here. All of it is read as a recording too.
#include <zstd.h>

#include <vector>

#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

void read_all(const std::filesystem::path& path) {
  accepted([&] {
    const corpus::SafetensorsHeader header = corpus::read_safetensors_header(path);
    for (const corpus::TensorInfo& tensor : header.tensors)
      if (accepted([&] { corpus::read_safetensors_tensor(path, tensor.name); }) != tensor.refused.empty())
        fail("a tensor that is read although it is refused, or the other way round");
    if (accepted([&] { corpus::read_safetensors(path); }) != header.refused.empty())
      fail("a file that is read although it is refused, or the other way round");
    const corpus::SafetensorsFile whole = corpus::read_safetensors(path);
    if (header.tensors.size() != whole.tensors.size() || header.metadata != whole.metadata)
      fail("a header that is not the file's");
    for (const corpus::Tensor& tensor : whole.tensors)
      if (corpus::read_safetensors_tensor(path, tensor.name).data != tensor.data)
        fail("a tensor that differs read alone");
  });
  accepted([&] {
    const corpus::Recording recording = corpus::read_recording(path);
    if (recording.modifiers.size() != recording.tiles) fail("a recording without a modifier a tile");
  });
}

std::vector<std::uint8_t> compressed(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> frame(ZSTD_compressBound(bytes.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
  return frame;
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  static ScratchFile plain("x.safetensors"), packed("x.safetensors.zst");
  const unsigned how = bytes.byte() % 3U;
  if (how == 0) read_all(plain.holding(bytes.rest()));
  if (how == 1) read_all(packed.holding(bytes.rest()));
  if (how == 2) read_all(packed.holding(compressed(bytes.rest())));
}
