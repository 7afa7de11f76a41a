// mmaudit model: folders as transformers writes them, in shards and with the embedding as the head.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/scratch_folder.hpp"
#include "program.hpp"

namespace mmaudit::cli {
namespace {

/// A matrix of small numbers that FP8 rounds.
void write(const std::string& file, const std::string& name) {
  constexpr std::size_t kSize = 128;
  std::vector<float> numbers(kSize * kSize);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 64 - 0.8F;
  corpus::write_safetensors(file, {{},
                                   {corpus::make_tensor<float>(name, corpus::DType::f32, {kSize, kSize},
                                                               std::span<const float>(numbers))}});
}

TEST(ModelFolders, ShardsWithAnIndexAreWrittenAboutToo) {
  const ScratchFolder scratch, other;
  const std::string folder = scratch.path().string() + "/", out = other.path().string() + "/";
  const std::string index = folder + "model.safetensors.index.json";
  write(folder + "model-1.safetensors", "a.weight");
  write(folder + "model-2.safetensors", "b.weight");
  std::ofstream(index)
      << R"({"weight_map":{"a.weight":"model-1.safetensors","b.weight":"model-2.safetensors"}})";
  for (const std::string& path : {folder, index}) {
    const test::Outcome found = test::run(
        {"model", path, "--max-rel-fro", "6%", "--html", out + "net.html", "--plan", out + "p.json"});
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_NE(found.out.find("2 of 2 products are within the limit."), std::string::npos) << found.out;
    EXPECT_EQ(test::run({"model", path, "--html", index}).code, 2);  // a file of the checkpoint
  }
}

TEST(ModelFolders, AHeadThatIsTheEmbeddingIsAuditedToo) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path().string() + "/";
  write(folder + "model.safetensors", "model.embed_tokens.weight");
  std::ofstream(folder + "config.json") << R"({"tie_word_embeddings":true})";
  const test::Outcome found =
      test::run({"model", folder, "--original", folder, "--max-rel-fro", "6%", "--plan", "-"});
  EXPECT_EQ(found.code, 0) << found.err;
  const Json layers = parse_json(found.out).at("layers");
  EXPECT_EQ(layers.size(), 1U);  // the table itself is no product
  EXPECT_TRUE(layers.contains("lm_head")) << found.out;
  const test::Outcome list = test::run({"model", folder, "--list"});
  EXPECT_NE(list.out.find("lm_head             128 x 128  the embedding  f32"), std::string::npos)
      << list.out;
  std::ofstream(folder + "config.json") << R"({"tie_word_embeddings":false})";
  EXPECT_EQ(test::run({"model", folder, "--list"}).out.find("lm_head"), std::string::npos);
}

TEST(ModelFolders, AForeignQuantMethodIsOneFault) {
  const ScratchFolder scratch, other;
  const std::string folder = scratch.path().string() + "/",
                    original = other.path().string() + "/a.safetensors";
  write(folder + "model.safetensors", "b.weight");
  write(original, "a.weight");
  std::ofstream(folder + "config.json") << R"({"quantization_config":{"quant_method":"torchao"}})";
  const test::Outcome found = test::run({"model", folder, "--original", original});
  EXPECT_EQ(found.code, 1) << found.err;
  EXPECT_NE(found.out.find("found \"torchao\", which is not read here"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("a      not compared: it may be of the quant_method"), std::string::npos)
      << found.out;
  EXPECT_EQ(found.out.find("missing: the original has it"), std::string::npos) << found.out;
}

}  // namespace
}  // namespace mmaudit::cli
