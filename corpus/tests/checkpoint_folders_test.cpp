// Places that hold no checkpoint, and configs that say which activations the codes are multiplied by.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::put;
using test::ScratchFolder;

TEST(CheckpointFolders, APlaceWithoutACheckpointSaysWhatIsThere) {
  const ScratchFolder folder;
  const auto open = [&](const std::string& name) { static_cast<void>(Checkpoint(folder / name)); };
  expect_refused([&] { open("none"); }, "none: path: found nothing there, allowed: a folder, an index, ");
  expect_refused([&] { open("none.safetensors"); }, "none.safetensors: path: found nothing there");
  std::filesystem::create_directories(folder / "empty");
  expect_refused([&] { open("empty"); }, "empty: folder: found nothing in it, allowed: a checkpoint of");
  std::filesystem::create_directories(folder / "text");
  put(folder / "text/config.json", "{}");
  expect_refused([&] { open("text"); }, "text: folder: found no *.safetensors and no *.gguf, allowed: ");
  std::filesystem::create_directories(folder / "old");
  for (const char* file : {"old/pytorch_model.bin", "old/a.pt", "old/b.pt", "old/c.pth", "old/config.json"})
    put(folder / file, "{}");
  expect_refused([&] { open("old"); },
                 "folder: found 4 files that are not read, such as \"pytorch_model.bin\", allowed: ");
  expect_refused([&] { open("old/a.pt"); }, "a.pt: extension: found \".pt\", allowed: .safetensors, .gguf");
  expect_refused([&] { open("text/config.json"); }, "extension: found \".json\", allowed: .safetensors, ");
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  expect_refused([&] { open("loop"); }, "loop: cannot read: Too many levels of symbolic links");
  if (geteuid() == 0) return;  // may read everything
  std::filesystem::permissions(folder / "text", std::filesystem::perms::none);
  expect_refused([&] { open("text"); },
                 "text: folder: found Permission denied, allowed: one that can be read");
  std::filesystem::permissions(folder / "text", std::filesystem::perms::owner_all);
}

/// A layer "a" of two rows and 64 of k in E2M1, with scales of E4M3 or powers of two for each `block`, opened
/// under this config.
struct OfFourBits {
  ScratchFolder folder;
  std::vector<std::uint8_t> codes;
  OfFourBits(std::uint64_t block, bool exponents, bool packed = false) {
    SafetensorsFile file;
    for (unsigned i = 0; i < 64; ++i) codes.push_back(static_cast<std::uint8_t>(37 * i + 11));
    const std::vector<std::uint8_t> scales(128 / block, exponents ? 126 : 0x3C);  // a half; 1.5
    const std::vector<float> factor = {0.25F};
    file.tensors.push_back(make_tensor<std::uint8_t>(packed ? "a.weight_packed" : "a.weight", DType::u8,
                                                     {2, 32}, std::span<const std::uint8_t>(codes)));
    file.tensors.push_back(make_tensor<std::uint8_t>("a.weight_scale", exponents ? DType::u8 : DType::f8_e4m3,
                                                     {2, 64 / block}, std::span<const std::uint8_t>(scales)));
    if (!exponents)
      file.tensors.push_back(make_tensor<float>(packed ? "a.weight_global_scale" : "a.weight_scale_2",
                                                DType::f32, {1}, std::span<const float>(factor)));
    write_safetensors(folder / "model.safetensors", file);
  }
  [[nodiscard]] CheckpointLayer layer(const std::string& quantization,
                                      std::vector<float>* weights = nullptr) const {
    put(folder / "config.json", R"({"dtype":"float32","quantization_config":{)" + quantization + "}}");
    const Checkpoint checkpoint(folder.path());
    EXPECT_EQ(checkpoint.layers().size(), 1U) << quantization;
    if (checkpoint.layers().empty()) return {};
    const CheckpointLayer& found = checkpoint.layers()[0];
    if (weights != nullptr) *weights = dequantized(found, checkpoint.rows(found, 0, 2));
    return found;
  }
  /// Codes by the definition of E2M1 (OCP), the first of two in the low half, times the same scale.
  [[nodiscard]] std::vector<float> times(float scale) const {
    constexpr float kValues[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    std::vector<float> out;
    for (const unsigned byte : codes)
      for (const unsigned code : {byte & 15, byte >> 4})
        out.push_back((code & 8) != 0 ? -kValues[code & 7] * scale : kValues[code & 7] * scale);
    return out;
  }
};

// What modelopt 0.47.0 writes: torch/export/quant_utils.py, process_layer_quant_config.
TEST(CheckpointFolders, Fp8ActivationsOfModelOptAreNotFp4) {
  const std::string modelopt = R"("quant_method":"modelopt","quant_algo":)";
  std::vector<float> weights;
  const OfFourBits nvfp4(32, false), usual(16, false), mxfp4(32, true);
  const CheckpointLayer eight = nvfp4.layer(modelopt + R"("W4A8_NVFP4_FP8","group_size":32)", &weights);
  EXPECT_EQ(eight.convention_name(), "nvfp4-fp8-modelopt");
  EXPECT_EQ(eight.meaning(), "w4a8 e4m3");
  EXPECT_EQ(eight.activation_format, Format::e4m3);
  EXPECT_EQ(eight.activations, "dynamic");
  EXPECT_EQ(eight.recipe, "");
  EXPECT_EQ(eight.block_k, 32U);
  EXPECT_EQ(weights, nvfp4.times(1.5F * 0.25F));
  EXPECT_EQ(usual.layer(modelopt + R"("W4A8_NVFP4_FP8")").convention_name(), "nvfp4-fp8-modelopt");

  const CheckpointLayer four = usual.layer(modelopt + R"("NVFP4")");
  EXPECT_EQ(four.convention_name(), "nvfp4-modelopt");
  EXPECT_EQ(four.meaning(), "w4a4 nvfp4-modelopt");
  EXPECT_EQ(four.activation_format, Format::e2m1);
  // Its config_groups say 8 bits, its activations have 4: convert_hf_config.py, _quant_algo_to_group_config.
  EXPECT_EQ(usual
                .layer(modelopt + R"("NVFP4_AWQ","config_groups":{"g":{"input_activations":{"num_bits":8,
                                      "type":"float"},"weights":{"num_bits":4}}})")
                .meaning(),
            "w4a4 nvfp4-modelopt");
  EXPECT_EQ(usual.layer(modelopt + R"("W4A16_NVFP4")").meaning(), "w4a16");
  EXPECT_EQ(usual.layer(modelopt + R"("W4A16_NVFP4")").activation_format, Format::none);
  const std::string mixed =
      modelopt + R"("MIXED_PRECISION","quantized_layers":{"b":{"quant_algo":"NVFP4"},"a":)";
  EXPECT_EQ(usual.layer(mixed + R"({"quant_algo":"W4A8_NVFP4_FP8"}})").meaning(), "w4a8 e4m3");
  EXPECT_EQ(usual.layer(mixed + R"({"quant_algo":"NVFP4"}})").meaning(), "w4a4 nvfp4-modelopt");
  // In any case, and by a glob of a name.
  EXPECT_EQ(usual.layer(R"("quant_method":"ModelOpt","quant_algo":"w4a8_nvfp4_fp8")").meaning(), "w4a8 e4m3");
  EXPECT_EQ(usual
                .layer(modelopt + R"("MIXED_PRECISION","quantized_layers":{"b*":{"quant_algo":"NVFP4"},
                                      "[a]":{"quant_algo":"W4A8_NVFP4_FP8"}})")
                .meaning(),
            "w4a8 e4m3");

  const CheckpointLayer powers = mxfp4.layer(modelopt + R"("W4A8_MXFP4_FP8")", &weights);
  EXPECT_EQ(powers.convention_name(), "mxfp4-fp8-modelopt");
  EXPECT_EQ(powers.meaning(), "w4a8 e4m3");
  EXPECT_EQ(weights, mxfp4.times(0.5F));
  EXPECT_EQ(mxfp4.layer(modelopt + R"("mxfp4")").meaning(), "w4a4 mxfp4");
}

// compressed-tensors 0.20.0: a scheme per group, which layers are its own by name, pattern or class, in this
// order.
TEST(CheckpointFolders, ALayerHasTheActivationsOfItsGroup) {
  const OfFourBits nvfp4(16, false, true);
  const auto groups = [](const std::string& first, const std::string& second) {
    return R"("quant_method":"compressed-tensors","config_groups":{"group_0":{)" + first +
           R"(},"group_1":{)" + second + "}}";
  };
  const auto group = [](const std::string& target, int bits, const std::string& input) {
    return R"("targets":[")" + target + R"("],"weights":{"num_bits":)" + std::to_string(bits) +
           R"(,"type":"float"},"input_activations":)" + input;
  };
  constexpr const char* kFour = R"({"num_bits":4,"type":"float"})";
  constexpr const char* kEight = R"({"num_bits":8,"type":"float"})";
  const auto meaning = [&](const std::string& first, const std::string& second) {
    return nvfp4.layer(groups(first, second)).meaning();
  };
  const std::string w4a4 = "w4a4 nvfp4-compressed-tensors";
  // Another group of other elements says nothing of this layer.
  EXPECT_EQ(meaning(group("Linear", 8, kEight), group("Linear", 4, "null")), "w4a16");
  EXPECT_EQ(meaning(group("Linear", 8, "null"), group("Linear", 4, kFour)), w4a4);
  EXPECT_EQ(meaning(group("re:.*b", 4, kFour), group("re:.*a", 4, "null")), "w4a16");
  EXPECT_EQ(meaning(group("re:.*(a|c)$", 4, kFour), group("re:b.*", 4, "null")), w4a4);
  EXPECT_EQ(meaning(group("Linear", 4, kFour), group("a", 4, "null")), "w4a16");
  EXPECT_EQ(meaning(group("Linear", 4, kFour), group("re:a", 4, "null")), "w4a16");
  EXPECT_EQ(meaning(group("a", 4, kFour), group("Linear", 4, "null")), w4a4);
  EXPECT_EQ(meaning(group("Linear", 4, kEight), group("b.c", 4, kFour)), "w4a8 e4m3");
  // It can't be told: named, and not read as either.
  put(nvfp4.folder / "config.json",
      R"({"quantization_config":{)" + groups(group("Linear", 4, kFour), group("Linear", 4, "null")) + "}}");
  const Checkpoint unclear(nvfp4.folder.path());
  EXPECT_TRUE(unclear.layers().empty());
  const auto& others = unclear.others();
  EXPECT_TRUE(std::any_of(others.begin(), others.end(), [](const OtherTensor& one) {
    return one.why.find("found groups with and without input_activations") != std::string::npos;
  }));
  // A pattern that a backtracking matcher never ends.
  EXPECT_EQ(meaning(group("re:(a*)*(a*)*(a*)*b", 4, "null"), group("Linear", 4, kFour)), w4a4);
}

TEST(CheckpointFolders, AConfigOfOtherBlocksIsNamed) {
  const OfFourBits nvfp4(16, false, true);
  const auto against = [&](const std::string& weights, const std::string& input = "null") {
    put(nvfp4.folder / "config.json",
        R"({"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"g":{"weights":{)" +
            weights + R"(},"input_activations":)" + input + "}}}}");
    const Checkpoint checkpoint(nvfp4.folder.path());
    EXPECT_EQ(checkpoint.layers().size(), 1U) << weights;
    return checkpoint.contradictions();
  };
  using Lines = std::vector<std::string>;
  const std::string end = ", as the tensors have it (a)";
  EXPECT_EQ(against(R"("num_bits":4,"type":"float","strategy":"tensor_group","group_size":16)"), Lines{});
  EXPECT_EQ(against(R"("num_bits":4,"group_size":32)"),
            Lines{"group_size: found 32 in the config, allowed: 16" + end});
  EXPECT_EQ(against(R"("num_bits":8)"), Lines{"bits: found 8 in the config, allowed: 4" + end});
  EXPECT_EQ(against(R"("type":"int")"), Lines{"type: found int in the config, allowed: float" + end});
  EXPECT_EQ(against(R"("strategy":"channel")"),
            Lines{"strategy: found channel in the config, allowed: group or block" + end});
  EXPECT_EQ(against(R"("num_bits":4)", R"({"num_bits":4,"dynamic":false})"),
            Lines{"activations: found static in the config, allowed: dynamic, since there is no scale of the "
                  "input (a)"});
  EXPECT_EQ(against(R"("num_bits":4,"group_size":-9223372036854775808)").size(), 1U);
}

TEST(CheckpointFolders, TheAlgorithmIsReadWhereTheConfigLacksIt) {
  const OfFourBits usual(16, false);
  put(usual.folder / "hf_quant_config.json", R"({"quantization":{"quant_algo":"W4A8_NVFP4_FP8"}})");
  EXPECT_EQ(usual.layer(R"("quant_method":"modelopt")").meaning(), "w4a8 e4m3");
}

}  // namespace
}  // namespace mmaudit::corpus
