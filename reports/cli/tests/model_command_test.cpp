// mmaudit model: a list, an audit, and planted faults found by their names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/json.hpp"
#include "program.hpp"

namespace mmaudit::cli {
namespace {

using corpus::DType;

constexpr std::size_t kN = 256, kK = 256, kBlocks = 2;

struct Draw {
  std::uint64_t state = 7;
  double operator()() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      sum += static_cast<double>(state >> 11) * 0x1p-53;
    }
    return sum - 6;
  }
};

/// The nearest E4M3 by search over its values, and the value.
std::uint8_t nearest(double x) {
  static const std::vector<double> values = [] {
    std::vector<double> out;
    out.reserve(127);
    for (int c = 0; c < 127; ++c)
      out.push_back(c < 8 ? std::ldexp(c, -9) : std::ldexp(8 + c % 8, c / 8 - 10));
    return out;
  }();
  const double size = std::fabs(x);
  std::size_t best = 0;
  for (std::size_t c = 1; c < values.size(); ++c)
    if (std::fabs(values[c] - size) < std::fabs(values[best] - size)) best = c;
  return static_cast<std::uint8_t>(best | (x < 0 ? 128 : 0));
}

/// An original of three layers and its blocks of DeepSeek, the second with reciprocal scales, the third with
/// transposed.
class ModelCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "model_command/";
    std::filesystem::create_directories(folder_ + "quantized");
    corpus::SafetensorsFile original, quantized;
    Draw draw;
    for (int i = 0; i < 3; ++i) {
      std::vector<float> weights(kN * kK), scales(kBlocks * kBlocks), stored(scales.size());
      std::vector<std::uint8_t> codes(weights.size());
      for (std::size_t b = 0; b < scales.size(); ++b)
        scales[b] = stored[b] = 0.01F * static_cast<float>(1 + 3 * b);
      for (std::size_t at = 0; at < weights.size(); ++at) {
        const float scale = scales[at / kK / 128 * kBlocks + at % kK / 128];
        weights[at] = static_cast<float>(60 * draw() * scale);
        codes[at] = nearest(weights[at] / scale);
      }
      if (i == 1)
        for (float& one : stored) one = 1 / one;
      if (i == 2) std::swap(stored[1], stored[2]);
      const std::string name = "model.layers." + std::to_string(i) + ".mlp.up_proj.weight";
      original.tensors.push_back(
          corpus::make_tensor<float>(name, DType::f32, {kN, kK}, std::span<const float>(weights)));
      quantized.tensors.push_back(corpus::make_tensor<std::uint8_t>(name, DType::f8_e4m3, {kN, kK},
                                                                    std::span<const std::uint8_t>(codes)));
      quantized.tensors.push_back(corpus::make_tensor<float>(
          name + "_scale_inv", DType::f32, {kBlocks, kBlocks}, std::span<const float>(stored)));
    }
    write_safetensors(folder_ + "original.safetensors", original);
    write_safetensors(folder_ + "quantized/model.safetensors", quantized);
    std::ofstream(folder_ + "quantized/config.json")
        << R"({"dtype":"float32","quantization_config":{"quant_method":"fp8"}})";
  }
  std::string folder_;
};

TEST_F(ModelCommand, Lists) {
  const test::Outcome list = test::run({"model", folder_ + "quantized", "--list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_NE(list.out.find("model.layers.1.mlp.up_proj  256 x 256  fp8-deepseek  w8a8 fp8-1x128-transformers"),
            std::string::npos)
      << list.out;
  EXPECT_EQ(parse_json(test::run({"model", folder_ + "quantized", "--list", "--json", "-"}).out)
                .at("layers")
                .size(),
            3U);
}

TEST_F(ModelCommand, NamesPlantedFaults) {
  const test::Outcome found = test::run(
      {"model", folder_ + "quantized", "--original", folder_ + "original.safetensors", "--json", "-"});
  EXPECT_EQ(found.code, 1) << found.err;
  const Json layers = parse_json(found.out).at("layers");
  EXPECT_EQ(layers.at(std::size_t{0}).at("faults").size(), 0U);
  const double error = layers.at(std::size_t{0}).at("original").at("error").get<double>();
  EXPECT_GT(error, 0.02);  // a uniform error of half a unit of 8 to 15 units
  EXPECT_LT(error, 0.04);
  EXPECT_EQ(
      layers.at(std::size_t{1}).at("faults").at(std::size_t{0}).get<std::string>().find("reciprocal scale: "),
      0U);
  EXPECT_EQ(layers.at(std::size_t{2})
                .at("faults")
                .at(std::size_t{0})
                .get<std::string>()
                .find("transposed scale blocks: "),
            0U);
  for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(layers.at(i).at("faults").size(), 1U);
}

TEST_F(ModelCommand, NamesWeightsOfAnotherLayer) {
  corpus::SafetensorsFile quantized = corpus::read_safetensors(folder_ + "quantized/model.safetensors");
  for (corpus::Tensor& tensor : quantized.tensors)  // the first layer's, which are right, as the second's
    if (const std::size_t at = tensor.name.find(".0."); at != std::string::npos)
      tensor.name[at + 1] = '1';
    else if (const std::size_t other = tensor.name.find(".1."); other != std::string::npos)
      tensor.name[other + 1] = '0';
  write_safetensors(folder_ + "quantized/model.safetensors", quantized);
  const test::Outcome found =
      test::run({"model", folder_ + "quantized", "--original", folder_ + "original.safetensors", "--layers",
                 "*.1.*", "--json", "-"});
  EXPECT_EQ(found.code, 1) << found.err;
  const auto fault = parse_json(found.out)
                         .at("layers")
                         .at(std::size_t{0})
                         .at("faults")
                         .at(std::size_t{0})
                         .get<std::string>();
  EXPECT_EQ(fault.find("other weights: error 1."), 0U) << fault;
  EXPECT_NE(fault.find("they are model.layers.0.mlp.up_proj of the original"), std::string::npos) << fault;
}

TEST_F(ModelCommand, AConfigThatContradictsTheTensorsFails) {
  std::ofstream(folder_ + "quantized/config.json")
      << R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[64,64]}})";
  const test::Outcome found = test::run({"model", folder_ + "quantized", "--layers", "*.0.*"});
  EXPECT_EQ(found.code, 1) << found.err;
  EXPECT_EQ(found.out.find("The checkpoint contradicts itself."), 0U) << found.out;
  EXPECT_NE(found.out.find("weight_block_size: found [64,64] in the config, allowed: 128 x 128"),
            std::string::npos)
      << found.out;
}

TEST_F(ModelCommand, TheSampleOfALayerDependsOnItsNameAndTheSeed) {
  const auto error = [&](const std::vector<std::string>& more, const std::string& rows = "16") {
    std::vector<std::string> words = {"model", folder_ + "quantized", "--sample", rows, "--json", "-"};
    words.insert(words.end(), more.begin(), more.end());
    const Json products = parse_json(test::run(words).out).at("audit").at("products");
    return products.at(products.size() - 1).at("rows").at(std::size_t{0}).at("total").get<double>();
  };
  EXPECT_EQ(error({}), error({"--layers", "*.2.*"}));
  EXPECT_NE(error({}), error({"--seed", "2"}));
  EXPECT_NE(error({}), error({}, "64"));
}

TEST_F(ModelCommand, WritesRecipesAndRefusesInOneLine) {
  const test::Outcome plan =
      test::run({"model", folder_ + "original.safetensors", "--max-rel-fro", "6%", "--plan", "-"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  // Four bits are off by 13 % under such activations, eight by 3.7 %.
  const auto dtype =
      parse_json(plan.out).at("layers").at("model.layers.0.mlp.up_proj").at("dtype").get<std::string>();
  EXPECT_TRUE(dtype == "e4m3" || dtype == "mxf8") << dtype;
  const test::Outcome said = test::run({"model", folder_ + "original.safetensors", "--max-rel-fro", "6%"});
  EXPECT_NE(said.out.find(" may go to " + std::string(dtype == "e4m3" ? "fp8-tensor" : "mxfp8-ceil")),
            std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("3 of 3 products are within the limit."), std::string::npos) << said.out;
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"model", folder_ + "none"},
                                             {"model", folder_ + "quantized", "--layers", "x*"},
                                             {"model", folder_ + "quantized", "--activations", "loud"},
                                             {"model", folder_ + "quantized", "--recipe", "nvfp5"},
                                             {"model", folder_ + "quantized", "--convention", "nvfp4"}}) {
    const test::Outcome refused = test::run(bad);
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  }
}

/// One layer of 64 x 64 with INT8 codes of `original` times these factors, a scale per row, and a norm.
void write_smoothed(const std::string& folder, const std::vector<float>& factors,
                    const std::vector<float>& norm, const std::string& more = "", std::size_t bad_row = 64) {
  constexpr std::size_t kSize = 64;
  Draw draw;
  std::vector<float> weights(kSize * kSize), scales(kSize), before(kSize);
  std::vector<std::int8_t> codes(weights.size());
  for (std::size_t i = 0; i < kSize; ++i) before[i] = 1 + static_cast<float>(i % 5) / 8;
  for (float& one : weights) one = static_cast<float>(draw());
  for (std::size_t row = 0; row < kSize; ++row) {
    for (std::size_t i = 0; i < kSize; ++i)
      scales[row] = std::max(scales[row], std::fabs(weights[row * kSize + i] * factors[i]) / 127);
    for (std::size_t i = 0; i < kSize; ++i)
      codes[row * kSize + i] =
          static_cast<std::int8_t>(std::lround(weights[row * kSize + i] * factors[i] / scales[row]));
  }
  if (bad_row < kSize) scales[bad_row] = NAN;
  std::vector<float> now(before);
  for (std::size_t i = 0; i < kSize; ++i) now[i] *= norm[i];
  const std::string layer = "model.layers.0.mlp.up_proj", norms = "model.layers.0.norm.weight";
  corpus::SafetensorsFile original, quantized;
  original.tensors = {corpus::make_tensor<float>(layer + ".weight", DType::f32, {kSize, kSize},
                                                 std::span<const float>(weights)),
                      corpus::make_tensor<float>(norms, DType::f32, {kSize}, std::span<const float>(before))};
  quantized.tensors = {corpus::make_tensor<std::int8_t>(layer + ".weight", DType::i8, {kSize, kSize},
                                                        std::span<const std::int8_t>(codes)),
                       corpus::make_tensor<float>(layer + ".weight_scale", DType::f32, {kSize, 1},
                                                  std::span<const float>(scales)),
                       corpus::make_tensor<float>(norms, DType::f32, {kSize}, std::span<const float>(now))};
  if (!more.empty()) original.tensors.push_back(original.tensors.back()), original.tensors.back().name = more;
  write_safetensors(folder + "before.safetensors", original);
  std::filesystem::create_directories(folder + "smoothed");
  write_safetensors(folder + "smoothed/model.safetensors", quantized);
  std::ofstream(folder + "smoothed/config.json")
      << R"({"dtype":"float32","quantization_config":{"quant_method":"compressed-tensors"}})";
}

test::Outcome beside(const std::string& folder, const std::string& path = "smoothed") {
  return test::run({"model", folder + path, "--original", folder + "before.safetensors", "--json", "-"});
}

TEST_F(ModelCommand, SmoothedColumnsAreNoFault) {
  std::vector<float> factors(64), inverse(64), ones(64, 1);
  for (std::size_t i = 0; i < 64; ++i)
    factors[i] = 3 + static_cast<float>(i * 7 % 64) / 16, inverse[i] = 1 / factors[i];
  write_smoothed(folder_, factors, inverse);
  const test::Outcome healthy = beside(folder_);
  EXPECT_EQ(healthy.code, 0) << healthy.out;
  const Json layer = parse_json(healthy.out).at("layers").at(std::size_t{0});
  EXPECT_EQ(layer.at("notes").dump().find("[\"columns scaled by a smoothing factor, 3 to 6.9 (error "), 0U)
      << layer.dump();
  EXPECT_NE(layer.dump().find("model.layers.0.norm.weight has the inverse"), std::string::npos)
      << layer.dump();
  // 127 codes either way of a row whose largest number is 3 times the usual one: half a unit in 40.
  EXPECT_LT(layer.at("original").at("error").get<double>(), 0.02);
  write_smoothed(folder_, factors, ones);  // its norm lacks them
  const Json alone = parse_json(beside(folder_).out).at("layers").at(std::size_t{0});
  EXPECT_EQ(alone.at("suspicions").size(), 1U) << alone.dump();
  EXPECT_EQ(alone.at("notes").size(), 0U) << alone.dump();
  write_smoothed(folder_, std::vector<float>(64, 4), ones);
  EXPECT_NE(beside(folder_).out.find("quantized twice, the first scale lost: error 3, and "),
            std::string::npos);
}

TEST_F(ModelCommand, TensorsWithoutCodesAreComparedToo) {
  const std::vector<float> ones(64, 1);
  std::vector<float> other(ones), nan(ones);
  other[3] = 9, nan[3] = NAN;
  const auto faults = [&](const std::vector<float>& norm, const std::string& more = "") {
    write_smoothed(folder_, ones, norm, more);
    const test::Outcome found = beside(folder_);
    const Json json = parse_json(found.out);
    std::string out = json.at("same_tensors").dump();
    for (const Json& one : json.at("tensors"))
      out += " " + one.at("name").get<std::string>() + ": " +
             one.at("faults").at(std::size_t{0}).get<std::string>();
    EXPECT_EQ(found.code, out.size() == 1 ? 0 : 1) << found.out;
    return out;
  };
  EXPECT_EQ(faults(ones), "1");
  // 8 of 1.375 in the square root of 13 times the squares of 1, 1.125, 1.25, 1.375 and 1.5, less the last's.
  EXPECT_EQ(
      faults(other),
      "0 model.layers.0.norm.weight: differs from the original, though it is not quantized: error 1.09");
  EXPECT_EQ(faults(nan), "0 model.layers.0.norm.weight: impossible numbers: 1 are infinite or NaN");
  EXPECT_EQ(faults(ones, "model.layers.1.norm.weight"),
            "1 model.layers.1.norm.weight: missing: the original has it");
}

TEST_F(ModelCommand, WhatWasNotComparedIsNoPass) {
  const std::vector<float> ones(64, 1);
  write_smoothed(folder_, ones, ones);
  corpus::SafetensorsFile file = corpus::read_safetensors(folder_ + "before.safetensors");
  for (corpus::Tensor& tensor : file.tensors) tensor.name = "other." + tensor.name;
  write_safetensors(folder_ + "before.safetensors", file);
  const test::Outcome other =
      test::run({"model", folder_ + "smoothed", "--original", folder_ + "before.safetensors"});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.out.find("Nothing was compared: the original has no layer"), std::string::npos)
      << other.out;
  const test::Outcome asked = test::run({"model", folder_ + "smoothed", "--junit", "-"});
  EXPECT_EQ(asked.code, 0);
  EXPECT_NE(asked.out.find("<skipped message=\"nothing judges it\">"), std::string::npos) << asked.out;
}

TEST_F(ModelCommand, AScaleThatLiesTransposedIsNamed) {
  corpus::SafetensorsFile file;
  const std::vector<std::uint8_t> codes(2048, 0x22), scales(256, 0x38);
  const std::vector<float> one = {1};
  file.tensors = {corpus::make_tensor<std::uint8_t>("a.weight", DType::u8, {64, 32},
                                                    std::span<const std::uint8_t>(codes)),
                  corpus::make_tensor<std::uint8_t>("a.weight_scale", DType::f8_e4m3, {4, 64},
                                                    std::span<const std::uint8_t>(scales)),
                  corpus::make_tensor<float>("a.weight_scale_2", DType::f32, {}, std::span<const float>(one)),
                  corpus::make_tensor<float>("b.weight", DType::f32, {1, 1}, std::span<const float>(one))};
  write_safetensors(folder_ + "turned.safetensors", file);
  for (const char* more : {"--quiet", "--list"}) {
    const test::Outcome found = test::run({"model", folder_ + "turned.safetensors", more});
    EXPECT_EQ(found.code, 1) << found.out;
    std::string text = found.out;
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
      text.erase(at, text.find_first_not_of(" \n", at) - at), text.insert(at, 1, ' ');
    EXPECT_NE(text.find("a.weight_scale: found [4, 64], allowed: (64, 4): its scales lie transposed"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(test::run({"model", folder_ + "turned.safetensors", "--layers", "b"}).code,
            0);  // a was not asked for
}

TEST_F(ModelCommand, WhatIsNotFiniteIsSeenOutsideTheSample) {
  const std::vector<float> ones(64, 1);
  for (std::size_t row = 0; row < 64; row += 21) {
    write_smoothed(folder_, ones, ones, "", row);
    const test::Outcome found = test::run({"model", folder_ + "smoothed", "--sample", "16"});
    EXPECT_EQ(found.code, 1) << row;
    EXPECT_NE(found.out.find("impossible scales: 1 of 64 are infinite or NaN"), std::string::npos)
        << found.out;
  }
  corpus::SafetensorsFile file;
  for (std::size_t at = 0; at < 4096; at += 1023) {
    std::vector<std::uint16_t> weights(4096, 0x3F80);
    weights[at] = 0xFF80;
    file.tensors = {corpus::make_tensor<std::uint16_t>("a.weight", DType::bf16, {64, 64},
                                                       std::span<const std::uint16_t>(weights))};
    write_safetensors(folder_ + "odd.safetensors", file);
    EXPECT_NE(test::run({"model", folder_ + "odd.safetensors", "--sample", "16"})
                  .out.find("1 of 4096 are infinite"),
              std::string::npos)
        << at;
  }
}

TEST_F(ModelCommand, NoOutputReplacesAFileOfACheckpoint) {
  const std::string quantized = folder_ + "quantized";
  std::string weights;
  for (const auto& each : std::filesystem::directory_iterator(quantized))
    if (each.path().extension() == ".safetensors") weights = each.path().string();
  ASSERT_NE(weights, "");
  const auto size = std::filesystem::file_size(weights);
  for (const char* option : {"--json", "--html", "--plan"}) {
    const test::Outcome refused = test::run({"model", quantized, option, weights});
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.err.find(std::string(option) + ": found the file of PATH"), std::string::npos)
        << refused.err;
  }
  const test::Outcome original =
      test::run({"model", quantized, "--original", folder_ + "original.safetensors", "--json",
                 folder_ + "original.safetensors"});
  EXPECT_EQ(original.code, 2) << original.out;
  EXPECT_EQ(std::filesystem::file_size(weights), size);
}

TEST_F(ModelCommand, WhatCantBeAuditedSaysWhy) {
  constexpr std::size_t kWide = (std::size_t{1} << 19) + 8;
  const std::vector<std::uint16_t> wide(kWide, 0x3F80), nan(64, 0x7FC0);
  corpus::SafetensorsFile file;
  file.tensors.push_back(corpus::make_tensor<std::uint16_t>("a.weight", DType::bf16, {1, kWide},
                                                            std::span<const std::uint16_t>(wide)));
  file.tensors.push_back(corpus::make_tensor<std::uint16_t>("b.weight", DType::bf16, {8, 8},
                                                            std::span<const std::uint16_t>(nan)));
  write_safetensors(folder_ + "odd.safetensors", file);
  const test::Outcome odd = test::run({"model", folder_ + "odd.safetensors"});
  EXPECT_NE((odd.out + odd.err).find("a was not audited: K: found 524296, allowed: at most 524288"),
            std::string::npos)
      << odd.out << odd.err;
  EXPECT_NE((odd.out + odd.err).find("impossible numbers: 64 of 64 are infinite or NaN"), std::string::npos)
      << odd.out << odd.err;
  file.tensors = {
      corpus::make_tensor<std::uint16_t>("a", DType::bf16, {64}, std::span<const std::uint16_t>(nan))};
  write_safetensors(folder_ + "odd.safetensors", file);
  const test::Outcome none = test::run({"model", folder_ + "odd.safetensors"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("layers: found none, allowed: matrices of weights"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace mmaudit::cli
