// Recordings of block-scaled instructions, written by the model: no GPU that has them was recorded.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/splitmix64.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::ScratchFolder;
using test::small_recording;

constexpr const char* kName = "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3";

void fill(std::uint64_t& random, std::uint8_t* bytes, std::size_t count, unsigned mask) {
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(splitmix64(random) & mask);
}

TileBatch random_tiles(const Instruction& inst, std::size_t tiles) {
  std::uint64_t random = 7;
  TileBatch batch(inst, tiles);
  fill(random, reinterpret_cast<std::uint8_t*>(batch.a.data()), batch.a.size(), 0x0F);
  fill(random, reinterpret_cast<std::uint8_t*>(batch.b.data()), batch.b.size(), 0x0F);
  fill(random, reinterpret_cast<std::uint8_t*>(batch.c.data()), batch.c.size(), 0x7F);
  fill(random, batch.scale_a.data(), batch.scale_a.size(), 0xFF);
  fill(random, batch.scale_b.data(), batch.scale_b.size(), 0xFF);
  const Architecture& architecture = *find_architecture("blackwell_rtx");
  emulate(inst, find_datapath(architecture, inst)->datapath, batch.view());
  return batch;
}

Recording scaled_recording(const Instruction& inst) {
  Provenance provenance = small_recording().provenance;
  provenance.compute_capability = 120;
  return recording_of(random_tiles(inst, 3), {{"random", 3}}, provenance, "1");
}

Recording scaled_recording() { return scaled_recording(find_instruction(kName).value()); }

TEST(ScaledRecording, EveryInstructionRoundTrips) {
  const ScratchFolder folder;
  std::size_t tried = 0;
  for (const Instruction& inst : kInstructions) {
    if (inst.op != Op::mma || scales_of(inst) == 0) continue;
    const Recording written = scaled_recording(inst);
    write_recording(folder / "r.safetensors", written);
    const Recording read = read_recording(folder / "r.safetensors");
    EXPECT_EQ(read.instruction, name_of(inst));
    const auto blocks = static_cast<std::uint64_t>(scales_of(inst));
    EXPECT_EQ(read.scale_a.shape, (std::vector<std::uint64_t>{3, 16, blocks}));
    EXPECT_EQ(read.scale_b.shape, (std::vector<std::uint64_t>{3, blocks, 8}));
    EXPECT_EQ(read.scale_a.data, written.scale_a.data);
    EXPECT_EQ(read.scale_b.data, written.scale_b.data);
    EXPECT_EQ(read.d.data, written.d.data);
    EXPECT_EQ(checksum_of(read), checksum_of(written));
    ++tried;
  }
  EXPECT_EQ(tried, 28U);
}

TEST(ScaledRecording, TheChecksumCoversScales) {
  const Recording right = scaled_recording();
  for (Tensor Recording::*const scales : {&Recording::scale_a, &Recording::scale_b}) {
    Recording changed = right;
    (changed.*scales).data.back() ^= std::byte{1};
    EXPECT_NE(checksum_of(changed), checksum_of(right));
  }
  const ScratchFolder folder;
  write_recording(folder / "r.safetensors", right);
  SafetensorsFile file = read_safetensors(folder / "r.safetensors");
  ASSERT_EQ(file.tensors.size(), 7U);
  EXPECT_EQ(file.tensors[5].name, "scale_a");
  EXPECT_EQ(file.tensors[6].name, "scale_b");
  file.tensors[6].data.front() ^= std::byte{1};
  write_safetensors(folder / "r.safetensors", file);
  EXPECT_THROW(read_recording(folder / "r.safetensors"), DamagedRecording);
}

TEST(ScaledRecording, OtherScalesAreRefused) {
  const ScratchFolder folder;
  const auto refused = [&](const std::function<void(Recording&)>& change, std::string_view part) {
    Recording recording = scaled_recording();
    change(recording);
    expect_refused([&] { write_recording(folder / "r.safetensors", recording); }, part);
    EXPECT_TRUE(folder.names().empty());
  };
  refused([](Recording& r) { r.scale_a = {}; }, "scale_a shape: found [], allowed: [3, 16, 4]");
  refused([](Recording& r) { r.scale_b = {}; }, "scale_b shape: found [], allowed: [3, 4, 8]");
  refused([](Recording& r) { std::swap(r.scale_a, r.scale_b); },
          "scale_a shape: found [3, 4, 8], allowed: [3, 16, 4]");
  refused(
      [](Recording& r) {
        r.scale_a.shape = {3, 16, 1ULL << 62};
      },
      "scale_a shape: found [3, 16, 4611686018427387904], allowed: [3, 16, 4]");
  refused([](Recording& r) { r.scale_a.shape = {3, 64}; }, "scale_a shape: found [3, 64]");
  refused([](Recording& r) { r.scale_b.data.pop_back(); }, "tensor 'scale_b': found 95 bytes, allowed: 96");
  refused([](Recording& r) { r.scale_b.dtype = DType::f8_e4m3; },
          "scale_b dtype: found F8_E4M3, allowed: U8");
  refused(
      [](Recording& r) {
        r.a.shape = {3, 32, 64};
        r.a.data.resize(2 * r.a.data.size());
        for (Tensor* const one : {&r.c, &r.d}) {
          one->shape[1] = 32;
          one->data.resize(2 * one->data.size());
        }
      },
      "A shape: found [3, 32, 64], allowed: [3, 16, 64]");
  refused([](Recording& r) { r.instruction = "mma.m16n8k32.kind_f8f6f4.f32.e2m1.e2m1.f32"; },
          "scale_a: found some, allowed: none: the instruction is not a known block-scaled one");
  refused(
      [](Recording& r) {
        r.instruction = "frob";
        r.scale_a = {};
      },
      "scale_b: found some, allowed: none");
}

/// A file whose checksum is right and whose tensors are not what its instruction has.
TEST(ScaledRecording, AFileWithoutItsScalesIsRefusedWhenRead) {
  const ScratchFolder folder;
  const auto path = folder / "r.safetensors";
  Recording dense = small_recording();
  dense.scale_a = {"scale_a", DType::u8, {1}, {std::byte{1}}};
  expect_refused([&] { write_recording(path, dense); }, "scale_a: found some");
  write_recording(path, scaled_recording());
  SafetensorsFile file = read_safetensors(path);
  Recording without = scaled_recording();
  without.scale_a = without.scale_b = {};
  file.tensors.resize(5);
  file.metadata["checksum"] = checksum_of(without);
  write_safetensors(path, file);
  expect_refused([&] { read_recording(path); }, "scale_a shape: found [], allowed: [3, 16, 4]");
}

}  // namespace
}  // namespace mmaudit::corpus
