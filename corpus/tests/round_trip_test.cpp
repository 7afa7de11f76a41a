// Laws over random tensors and recordings: what is written is what is read.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::ScratchFolder;

std::vector<std::byte> any_bytes(std::uint64_t count) {
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<std::byte>(*rc::gen::arbitrary<unsigned char>()));
  return bytes;
}

Tensor any_tensor(std::string name) {
  Tensor tensor{std::move(name),
                static_cast<DType>(*rc::gen::inRange(0, static_cast<int>(DType::boolean) + 1)),
                {},
                {}};
  const int rank = *rc::gen::inRange(0, 5);
  for (int i = 0; i < rank; ++i) tensor.shape.push_back(*rc::gen::inRange<std::uint64_t>(0, 5));
  tensor.data = any_bytes(byte_count(tensor.dtype, tensor.shape).value());
  return tensor;
}

TEST(RoundTrip, NpyKeepsShapeAndBytes) {
  const ScratchFolder folder;
  EXPECT_TRUE(rc::check("read_npy(write_npy(t)) == t, bf16 and fp8 as raw bits", [&] {
    const Tensor written = any_tensor("t");
    write_npy(folder / "t.npy", written);
    const Tensor read = read_npy(folder / "t.npy");
    const bool raw = written.dtype == DType::bf16 || bytes_of(written.dtype) == 1;
    RC_ASSERT(raw || read.dtype == written.dtype);
    RC_ASSERT(read.shape == written.shape);
    RC_ASSERT(read.data == written.data);
  }));
}

TEST(RoundTrip, SafetensorsKeepsEverything) {
  const ScratchFolder folder;
  EXPECT_TRUE(rc::check("read_safetensors(write_safetensors(f)) == f", [&] {
    SafetensorsFile written;
    const int count = *rc::gen::inRange(0, 5);
    for (int i = 0; i < count; ++i) written.tensors.push_back(any_tensor(std::to_string(i)));
    written.metadata["text"] = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    write_safetensors(folder / "f.safetensors", written);
    const SafetensorsFile read = read_safetensors(folder / "f.safetensors");
    RC_ASSERT(read.metadata == written.metadata);
    RC_ASSERT(read.tensors.size() == written.tensors.size());
    for (std::size_t i = 0; i < read.tensors.size(); ++i) {
      RC_ASSERT(read.tensors[i].name == written.tensors[i].name);
      RC_ASSERT(read.tensors[i].dtype == written.tensors[i].dtype);
      RC_ASSERT(read.tensors[i].shape == written.tensors[i].shape);
      RC_ASSERT(read.tensors[i].data == written.tensors[i].data);
    }
  }));
}

TEST(RoundTrip, ARecordingWithOneByteChangedIsDamaged) {
  EXPECT_TRUE(rc::check("checksum_of tells recordings apart", [] {
    const Recording original = test::small_recording();
    Recording changed = original;
    auto& data = (*rc::gen::element(&changed.a, &changed.b, &changed.c, &changed.d))->data;
    data.at(*rc::gen::inRange<std::size_t>(0, data.size())) ^=
        static_cast<std::byte>(*rc::gen::inRange(1, 256));
    RC_ASSERT(checksum_of(changed) != checksum_of(original));
  }));
}

}  // namespace
}  // namespace mmaudit::corpus
