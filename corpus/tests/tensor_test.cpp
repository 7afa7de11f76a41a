#include "mmaudit/corpus/tensor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <limits>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::ScratchFolder;
using test::Shape;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::uint16_t, 6> kSix{1, 2, 3, 4, 5, 6};

TEST(Tensor, CountsElementsAndSeesOverflow) {
  EXPECT_EQ(element_count(Shape{}), 1U);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24U);
  EXPECT_EQ(element_count(Shape{kMax}), kMax);
  EXPECT_EQ(element_count(Shape{kMax, 2}), std::nullopt);
  EXPECT_EQ(element_count(Shape{5, 0}), 0U);
  EXPECT_EQ(element_count(Shape{0, kMax, 2}), std::nullopt)
      << "strides over the nonzero extents would overflow";
  EXPECT_EQ(byte_count(DType::u16, Shape{kMax / 2}), kMax - 1);
  EXPECT_EQ(byte_count(DType::u16, Shape{kMax / 2 + 1}), std::nullopt);
}

TEST(Tensor, EveryDTypeHasItsNamesAndSize) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_safetensors(safetensors_name(dtype)), dtype);
    const auto back = dtype_from_npy(npy_name(dtype));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(bytes_of(*back), bytes_of(dtype));
    EXPECT_EQ(npy_name(dtype)[2] - '0', static_cast<int>(bytes_of(dtype)));
  }
  EXPECT_EQ(dtype_from_npy("|V2"), DType::u16);
  EXPECT_EQ(dtype_from_npy("<V1"), DType::u8);
  EXPECT_EQ(dtype_from_npy("<f1"), DType::f8_e5m2);
  EXPECT_EQ(dtype_from_npy("<i1"), DType::i8);
  for (const char* const name : {"|u2", ">u2", "=u2", "|V4", "|O", "<c8", "", "u2", "<u22"}) {
    EXPECT_EQ(dtype_from_npy(name), std::nullopt) << name;
  }
}

/// numpy.save of each type of ml_dtypes 0.6.0 that the model has: its descr and the format behind the colon.
TEST(TensorFile, RawBitsOfANpyAreWhatTheUserSays) {
  const ScratchFolder folder;
  const auto save = [&](std::string_view descr, std::string_view bytes) {
    const std::string header =
        "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (1,), }\n";
    test::put(folder / "x.npy", std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) +
                                    '\0' + header + std::string(bytes));
    return (folder / "x.npy").string();
  };
  for (const auto& [name, format] :
       std::vector<std::pair<std::string, Format>>{{"float8_e4m3fn", Format::e4m3},
                                                   {"float8_e4m3fnuz", Format::e4m3fnuz},
                                                   {"float8_e5m2", Format::e5m2},
                                                   {"float8_e5m2fnuz", Format::e5m2fnuz},
                                                   {"float8_e8m0fnu", Format::ue8m0},
                                                   {"float6_e2m3fn", Format::e2m3},
                                                   {"float6_e3m2fn", Format::e3m2},
                                                   {"float4_e2m1fn", Format::e2m1}}) {
    const Tensor tensor = load_tensor(save("<V1", "\x38") + ":" + name);
    EXPECT_EQ(format_of(tensor), format) << name;
    EXPECT_EQ(tensor.dtype, value_type(format)) << name;
    EXPECT_FALSE(tensor.untyped);
  }
  const std::string file = save("<V2", "\x80\x3f");
  EXPECT_EQ(load_tensor(file).dtype, DType::u16) << "no type is guessed";
  EXPECT_EQ(format_of(load_tensor(file)), Format::none);
  EXPECT_NE(type_text(load_tensor(file)).find("FILE.npy:FORMAT says it, with bf16)"), std::string::npos)
      << type_text(load_tensor(file));
  for (const char* name : {"bf16", "bfloat16", "BF16", "torch.bfloat16"})
    EXPECT_EQ(load_tensor(file + ":" + name).dtype, DType::bf16) << name;
  EXPECT_EQ(load_tensor(save("<u2", "\x80\x3f") + ":bf16").dtype, DType::bf16);
  EXPECT_EQ(load_tensor(save("<f2", "\x80\x3f") + ":f16").dtype, DType::f16);
  expect_refused([&] { load_tensor(save("<f2", "\x80\x3f") + ":bf16"); },
                 "x.npy: dtype: found F16, allowed: U16 (raw bits of bf16) or BF16");
  expect_refused([&] { load_tensor(save("<V2", "\x80\x3f") + ":e4m3"); },
                 "dtype: found U16 bits without a type");
  expect_refused([&] { load_tensor(file + ":bf61"); }, "x.npy: format: found \"bf61\" (did you mean bf16?)");
  expect_refused([&] { load_tensor(file + ":"); },
                 "format: found no name after ':', allowed: FILE.npy:FORMAT");
  EXPECT_EQ(file_of(file + ":bf16"), file);
  EXPECT_EQ(file_of("a.safetensors:x.npy:bf16"), "a.safetensors");
}

TEST(Tensor, AsChecksSizes) {
  Tensor tensor = make_tensor("x", DType::f16, {2, 3}, std::span<const std::uint16_t>(kSix));
  EXPECT_EQ(tensor.as<std::uint16_t>()[5], 6U);
  expect_refused([&] { static_cast<void>(tensor.as<std::uint32_t>()); }, "element size: found 2 bytes (F16)");
  tensor.shape = {2, 4};
  expect_refused([&] { static_cast<void>(tensor.as<std::uint16_t>()); },
                 "data: found 12 bytes, allowed: 8 elements");
  tensor.shape = {kMax, kMax};
  expect_refused([&] { static_cast<void>(tensor.as<std::uint16_t>()); }, "shape: found");
  expect_refused([] { make_tensor("y", DType::u16, {7}, std::span<const std::uint16_t>(kSix)); }, "y: data");
}

TEST(TensorFile, LoadsWhatTheSpecNames) {
  const ScratchFolder folder;
  const Tensor tensor = make_tensor("w.npy:1", DType::u16, {6}, std::span<const std::uint16_t>(kSix));
  const std::string npy = folder / "x.npy";
  const std::string one = folder / "one.safetensors";
  save_tensor(npy, tensor);
  save_tensor(one, tensor);
  EXPECT_EQ(load_tensor(npy).data, tensor.data);
  EXPECT_EQ(load_tensor(npy).name, "x");
  EXPECT_EQ(load_tensor(one).data, tensor.data);
  EXPECT_EQ(load_tensor(one + ":w.npy:1").name, "w.npy:1");
  expect_refused([&] { load_tensor(one + ":z"); }, "one.safetensors: tensor: found no 'z', allowed: w.npy:1");
  expect_refused([&] { load_tensor(one + ":"); }, "no name after ':'");
  expect_refused([&] { load_tensor(folder / "x.txt"); }, "extension: found '.txt'");
  expect_refused([&] { load_tensor(""); }, "extension: found none");
  expect_refused([&] { load_tensor(folder / "missing.npy"); }, "cannot read: No such file");
  expect_refused([&] { save_tensor(folder / "x.txt", tensor); }, "x.txt: extension: found '.txt'");
}

TEST(TensorFile, NamesAtMostEightTensorsWhenThereAreSeveral) {
  const ScratchFolder folder;
  SafetensorsFile file;
  const std::string path = folder / "many.safetensors";
  for (int i = 0; i < 10; ++i) file.tensors.push_back({std::to_string(i), DType::u8, {0}, {}});
  write_safetensors(path, file);
  expect_refused([&] { load_tensor(path); },
                 "found 10 tensors (0 U8 [0], 1 U8 [0], 2 U8 [0], 3 U8 [0], 4 U8 [0], 5 U8 [0], 6 U8 [0], "
                 "7 U8 [0], ... (10 in all)), allowed: one, or FILE.safetensors:NAME");
  write_safetensors(path, {});
  expect_refused([&] { load_tensor(path); }, "found 0 tensors");
  file.tensors = {{"w", DType::bf16, {2, 3}, std::vector<std::byte>(12)},
                  {"w_scale", DType::f32, {}, std::vector<std::byte>(4)}};
  write_safetensors(path, file);
  expect_refused([&] { load_tensor(path); }, "found 2 tensors (w BF16 [2, 3], w_scale F32 []), allowed: one");
}

TEST(TensorFile, NamesOfANetworkAreShownWhole) {
  const ScratchFolder folder;
  SafetensorsFile file;
  const std::string layers = "model.decoder.layers.1", expert = ".block_sparse_moe.experts.3.w2.weight";
  for (int i = 0; i < 9; ++i) {
    std::string name = layers;
    name.append(std::to_string(i)).append(expert);
    file.tensors.push_back({std::move(name), DType::u8, {0}, {}});
  }
  const std::string path = folder / "net.safetensors";
  write_safetensors(path, file);
  expect_refused([&] { load_tensor(path); }, layers + "7" + expert + " U8 [0], ... (9 in all)");
  expect_refused([&] { load_tensor(path + ":" + layers + "77" + expert); },
                 "allowed: " + layers + "7" + expert + ", ");
  expect_refused([&] { load_tensor(path + ":x"); }, ", ... (6 more)");
}

TEST(TensorFile, TheIndexOfACheckpointSaysWhichFile) {
  const ScratchFolder folder;
  const std::string index = folder / "model.safetensors.index.json";
  std::ofstream(index) << R"({"metadata": {}, "weight_map": {"a.weight": "model-2.safetensors", "b": 1}})";
  expect_refused([&] { load_tensor(index + ":a.weight"); }, "model-2.safetensors: cannot read");
  const std::vector<float> numbers = {1, 2};
  write_safetensors(folder / "model-2.safetensors",
                    {{}, {make_tensor<float>("a.weight", DType::f32, {2}, std::span<const float>(numbers))}});
  EXPECT_EQ(load_tensor(index + ":a.weight").as<float>()[1], 2);
  EXPECT_EQ(file_of(index + ":a.weight"), (folder / "model-2.safetensors").string());
  EXPECT_EQ(file_of(index), index);
  expect_refused([&] { load_tensor(index + ":a.weigth"); }, "tensor: found a.weigth, allowed: a.weight, b");
  expect_refused([&] { load_tensor(index); }, "tensor: found no name, allowed: a.weight, b");
  std::ofstream(index) << "{";
  expect_refused([&] { load_tensor(index + ":a"); },
                 "found no valid JSON, allowed: the index of a checkpoint");
}

TEST(TensorFile, BytesAreThoseOfTheNamedTensor) {
  const ScratchFolder folder;
  SafetensorsFile file;
  file.tensors.push_back({"small", DType::u8, {1}, {std::byte{7}}});
  file.tensors.push_back({"large", DType::u16, {3}, std::vector<std::byte>(6)});
  const std::string path = folder / "two.safetensors";
  write_safetensors(path, file);
  EXPECT_EQ(tensor_bytes(path + ":small"), 1U);
  EXPECT_EQ(tensor_bytes(path + ":large"), 6U);
  EXPECT_EQ(tensor_bytes(path + ":none"), 0U);
  EXPECT_EQ(tensor_bytes(path), 1U);  // of the first: load_tensor() refuses a file of two without a name
}

TEST(TensorFile, SavesAnUnnamedTensor) {
  const ScratchFolder folder;
  const std::string path = folder / "x.safetensors";
  save_tensor(path, {"", DType::u8, {1}, {std::byte{7}}});
  EXPECT_EQ(load_tensor(path).name, "tensor");
}

}  // namespace
}  // namespace mmaudit::corpus
