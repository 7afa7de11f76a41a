// Checkpoints that the tests write themselves, and dequantized weights by arithmetic of their own.
#include "mmaudit/corpus/checkpoint.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "mmaudit/corpus/safetensors.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::put;
using test::ScratchFolder;
using test::Shape;

/// E4M3 and E2M1 by their definition (OCP), not by the library's conversion.
double fp8(unsigned code) {
  const unsigned e = code >> 3 & 15, m = code & 7;
  const double x = e == 0 ? std::ldexp(m, -9) : std::ldexp(8.0 + m, static_cast<int>(e) - 10);
  return (code & 128) != 0 ? -x : x;
}
double fp4(unsigned code) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kValues[code & 7] : kValues[code & 7];
}
/// To nearest, ties to even, of numbers whose bf16 is normal.
float bf16(double x) {
  if (x == 0) return static_cast<float>(x);
  const double unit = std::ldexp(1.0, std::ilogb(x) - 7);
  return static_cast<float>(std::nearbyint(x / unit) * unit);
}

struct Draw {
  std::uint64_t state = 1;
  unsigned operator()(unsigned below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>(state >> 33) % below;
  }
};

/// Codes without NaN and scales of a usual size.
std::vector<std::uint8_t> bytes(Draw& draw, std::size_t count, unsigned most = 256) {
  std::vector<std::uint8_t> out(count);
  for (auto& one : out) do
      one = static_cast<std::uint8_t>(draw(most));
    while ((one & 127) == 127);
  return out;
}
std::vector<float> floats(Draw& draw, std::size_t count) {
  std::vector<float> out(count);
  for (auto& one : out) one = 0.001F * static_cast<float>(1 + draw(5000));
  return out;
}

class Model {
 public:
  template <class T>
  void add(const std::string& name, DType type, Shape shape, const std::vector<T>& values) {
    file_.tensors.push_back(make_tensor<T>(name, type, std::move(shape), std::span<const T>(values)));
  }
  Checkpoint open(const std::string& config = "{}", std::string_view convention = {}) {
    write_safetensors(folder_ / "model.safetensors", file_);
    put(folder_ / "config.json", config);
    return Checkpoint(folder_.path(), convention);
  }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
  SafetensorsFile file_;
};

std::string method(const std::string& name) {
  return R"({"dtype":"bfloat16","quantization_config":{"quant_method":")" + name + R"("}})";
}

/// All rows at once and each row alone give `wanted`.
void expect_weights(const Checkpoint& checkpoint, const std::vector<float>& wanted,
                    std::string_view convention) {
  ASSERT_EQ(checkpoint.layers().size(), 1U);
  const CheckpointLayer& layer = checkpoint.layers()[0];
  EXPECT_EQ(layer.convention_name(), convention);
  ASSERT_EQ(wanted.size(), layer.rows() * layer.k);
  EXPECT_EQ(dequantized(layer, checkpoint.rows(layer, 0, layer.rows())), wanted);
  for (std::uint64_t r = 0; r < layer.rows(); ++r) {
    const auto first = wanted.begin() + static_cast<std::ptrdiff_t>(r * layer.k);
    ASSERT_EQ(dequantized(layer, checkpoint.rows(layer, r, 1)),
              std::vector<float>(first, first + static_cast<std::ptrdiff_t>(layer.k)));
  }
}

TEST(Checkpoint, BlocksOfDeepSeek) {
  Draw draw;
  Model model;
  constexpr std::size_t kN = 200, kK = 256;
  const auto codes = bytes(draw, kN * kK);
  const auto scales = floats(draw, 4);
  model.add("model.layers.0.mlp.up_proj.weight", DType::f8_e4m3, {kN, kK}, codes);
  model.add("model.layers.0.mlp.up_proj.weight_scale_inv", DType::f32, {2, 2}, scales);
  std::vector<float> wanted;
  for (std::size_t n = 0; n < kN; ++n)
    for (std::size_t k = 0; k < kK; ++k)
      wanted.push_back(bf16(static_cast<float>(fp8(codes[n * kK + k])) * scales[n / 128 * 2 + k / 128]));
  const Checkpoint checkpoint = model.open(method("fp8"));
  expect_weights(checkpoint, wanted, "fp8-deepseek");
  EXPECT_EQ(checkpoint.layers()[0].name, "model.layers.0.mlp.up_proj");
  EXPECT_EQ(checkpoint.layers()[0].meaning(), "w8a8 fp8-1x128-transformers");
}

TEST(Checkpoint, Nvfp4OfBothWriters) {
  Draw draw;
  constexpr std::size_t kN = 5, kK = 32;
  const auto packed = bytes(draw, kN * kK / 2);
  const auto scales = bytes(draw, kN * 2, 120);
  const float factor = 0.0073F;
  for (const bool divides : {false, true}) {
    Model model;
    model.add(divides ? "a.weight_packed" : "a.weight", DType::u8, {kN, kK / 2}, packed);
    model.add("a.weight_scale", DType::f8_e4m3, {kN, 2}, scales);
    model.add(divides ? "a.weight_global_scale" : "a.weight_scale_2", DType::f32, {1}, std::vector{factor});
    model.add(divides ? "a.input_global_scale" : "a.input_scale", DType::f32, {1}, std::vector{4.0F});
    std::vector<float> wanted;
    for (std::size_t n = 0; n < kN; ++n)
      for (std::size_t k = 0; k < kK; ++k) {
        const unsigned byte = packed[n * kK / 2 + k / 2];
        const auto scale = static_cast<float>(fp8(scales[n * 2 + k / 16]));
        const float both = divides ? scale / factor : scale * factor;
        wanted.push_back(bf16(static_cast<float>(fp4(k % 2 == 0 ? byte & 15 : byte >> 4)) * both));
      }
    const Checkpoint checkpoint = model.open(method(divides ? "compressed-tensors" : "modelopt"));
    expect_weights(checkpoint, wanted, divides ? "nvfp4-compressed-tensors" : "nvfp4-modelopt");
    EXPECT_EQ(checkpoint.layers()[0].input_scale, divides ? 0.25 : 4.0);
    EXPECT_EQ(checkpoint.layers()[0].activations, "static");
  }
}

TEST(Checkpoint, ExpertsOfGptOss) {
  Draw draw;
  Model model;
  const auto blocks = bytes(draw, std::size_t{3} * 4 * 2 * 16);
  std::vector<std::uint8_t> scales(std::size_t{3} * 4 * 2);
  for (auto& one : scales) one = static_cast<std::uint8_t>(120 + draw(10));
  model.add("model.layers.1.mlp.experts.down_proj_blocks", DType::u8, {3, 4, 2, 16}, blocks);
  model.add("model.layers.1.mlp.experts.down_proj_scales", DType::u8, {3, 4, 2}, scales);
  std::vector<float> wanted;
  for (std::size_t row = 0; row < 12; ++row)
    for (std::size_t k = 0; k < 64; ++k) {
      const unsigned byte = blocks[row * 32 + k / 2];
      wanted.push_back(static_cast<float>(
          std::ldexp(fp4(k % 2 == 0 ? byte & 15 : byte >> 4), scales[row * 2 + k / 32] - 127)));
    }
  expect_weights(model.open(method("mxfp4")), wanted, "mxfp4-gpt-oss");
}

TEST(Checkpoint, WholeNumbersOfGptqAndAwq) {
  Draw draw;
  constexpr std::size_t kN = 16, kK = 32, kGroup = 16;
  std::vector<unsigned> codes(kN * kK), zeros(kN * 2);
  for (auto& one : codes) one = draw(16);
  for (auto& one : zeros) one = draw(15);
  std::vector<float> scales(2 * kN);
  for (auto& one : scales) one = 0.25F * static_cast<float>(1 + draw(7));  // exact in f16
  std::vector<std::uint16_t> half;
  for (const float scale : scales) {
    const int exponent = std::ilogb(scale);
    half.push_back(static_cast<std::uint16_t>((exponent + 15) << 10 |
                                              static_cast<int>((std::ldexp(scale, -exponent) - 1) * 1024)));
  }
  constexpr std::size_t kAwq[] = {0, 2, 4, 6, 1, 3, 5, 7};  // column of the i-th nibble
  for (const std::string name : {"gptq", "gptq_v2", "awq"}) {
    const bool awq = name == "awq", one_less = name == "gptq";
    std::vector<std::uint32_t> q(kN * kK / 8), z(2 * kN / 8);
    for (std::size_t n = 0; n < kN; ++n) {
      const std::size_t at = awq ? static_cast<std::size_t>(std::find(kAwq, kAwq + 8, n % 8) - kAwq) : n % 8;
      for (std::size_t k = 0; k < kK; ++k)
        if (awq)
          q[k * (kN / 8) + n / 8] |= codes[n * kK + k] << 4 * at;
        else
          q[k / 8 * kN + n] |= codes[n * kK + k] << 4 * (k % 8);
      for (std::size_t g = 0; g < 2; ++g)
        z[g * (kN / 8) + n / 8] |= ((zeros[n * 2 + g] - (one_less ? 1U : 0U)) & 15U) << 4 * at;
    }
    Model model;
    model.add("a.qweight", DType::i32, awq ? Shape{kK, kN / 8} : Shape{kK / 8, kN}, q);
    model.add("a.qzeros", DType::i32, {2, kN / 8}, z);
    model.add("a.scales", DType::f16, {2, kN}, half);
    std::vector<std::uint32_t> groups(kK);
    for (std::size_t k = 0; k < kK; ++k)
      groups[k] = static_cast<std::uint32_t>(awq ? k / kGroup : (k + 3) / 7 % 2);
    if (!awq) model.add("a.g_idx", DType::i32, {kK}, groups);
    std::vector<float> wanted;
    for (std::size_t n = 0; n < kN; ++n)
      for (std::size_t k = 0; k < kK; ++k)
        wanted.push_back(
            (static_cast<float>(codes[n * kK + k]) - static_cast<float>(zeros[n * 2 + groups[k]])) *
            scales[groups[k] * kN + n]);
    const std::string config =
        name == "gptq_v2" ? R"({"quantization_config":{"quant_method":"gptq","checkpoint_format":"gptq_v2"}})"
                          : method(name);
    expect_weights(model.open(config), wanted, name == "gptq_v2" ? "gptq-v2" : name);
    if (!awq)
      expect_refused([&] { model.open("{}"); },
                     "found gptq, gptq-v2, allowed: one of them by --convention NAME");
  }
}

TEST(Checkpoint, PackedIntegersOfCompressedTensors) {
  Draw draw;
  Model model;
  constexpr std::size_t kN = 3, kK = 40;
  std::vector<int> codes(kN * kK);
  for (auto& one : codes) one = static_cast<int>(draw(16)) - 8;
  std::vector<std::uint32_t> words(kN * 5);
  for (std::size_t i = 0; i < codes.size(); ++i)
    words[i / kK * 5 + i % kK / 8] |= static_cast<std::uint32_t>(codes[i] + 8) << 4 * (i % kK % 8);
  model.add("a.weight_packed", DType::i32, {kN, 5}, words);
  model.add("a.weight_scale", DType::f32, {kN, 1}, std::vector{0.5F, 0.3F, 7.0F});
  model.add("a.weight_shape", DType::i64, {2}, std::vector<std::int64_t>{kN, kK});
  std::vector<float> wanted;
  constexpr float kScales[] = {0.5F, 0.3F, 7.0F};
  for (std::size_t i = 0; i < codes.size(); ++i)
    wanted.push_back(static_cast<float>(codes[i]) * kScales[i / kK]);
  expect_weights(model.open(method("compressed-tensors")), wanted, "int-pack-quantized");
}

TEST(Checkpoint, AChoiceIsAskedFor) {
  Model model;
  model.add("a.weight", DType::f8_e4m3, {2, 2}, std::vector<std::uint8_t>{8, 9, 10, 11});
  model.add("a.weight_scale", DType::f32, {1}, std::vector{1.3F});
  expect_refused([&] { model.open(); },
                 "convention of \"a.weight\": found fp8-compressed-tensors, fp8-autofp8, fp8-modelopt, "
                 "allowed: one of them by --convention NAME");
  expect_weights(model.open("{}", "fp8-compressed-tensors"),
                 {static_cast<float>(fp8(8)) * 1.3F, static_cast<float>(fp8(9)) * 1.3F,
                  static_cast<float>(fp8(10)) * 1.3F, static_cast<float>(fp8(11)) * 1.3F},
                 "fp8-compressed-tensors");
  const auto rounded = [](unsigned code) { return bf16(fp8(code) * bf16(1.3F)); };  // the scale first
  expect_weights(model.open(method("fp8")), {rounded(8), rounded(9), rounded(10), rounded(11)},
                 "fp8-autofp8");
  expect_refused([&] { model.open("{}", "nvfp4"); }, "convention: found nvfp4");
}

TEST(Checkpoint, AForeignTensorIsNamedAndTheOthersAreRead) {
  Model model;
  model.add("b.weight", DType::f32, {1, 2}, std::vector{1.0F, 2.0F});
  model.add("c.weight", DType::u8, {2, 2}, std::vector<std::uint8_t>(4));
  model.add("d.weight", DType::f8_e4m3, {4, 4}, std::vector<std::uint8_t>(16));
  model.add("d.weight_scale_inv", DType::f32, {3, 1}, std::vector{1.0F, 1.0F, 1.0F});
  const Checkpoint checkpoint = model.open(method("fp8"));
  expect_weights(checkpoint, {1, 2}, "plain");
  ASSERT_EQ(checkpoint.others().size(), 3U);
  EXPECT_NE(checkpoint.others()[0].why.find("convention: found U8 [2, 2] that none knows"),
            std::string::npos);
  EXPECT_NE(checkpoint.others()[1].why.find(
                "shape of d.weight_scale_inv: found [3, 1], allowed: (1, 1) for blocks of 128 x 4"),
            std::string::npos)
      << checkpoint.others()[1].why;
}

template <class T>
std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}
std::string text(const std::string& x) { return raw<std::uint64_t>(x.size()) + x; }

/// A file of one tensor "blk.0.attn_q.weight" (2 rows of `k`) of this type. `key`: attn_k, of one head.
std::string gguf(std::uint32_t type, std::uint64_t k, const std::string& data, std::uint64_t offset = 0,
                 bool key = false) {
  std::string out = "GGUF" + raw<std::uint32_t>(3) + raw<std::uint64_t>(1) + raw<std::uint64_t>(key ? 3 : 2);
  if (key) out += text("llama.attention.head_count") + raw<std::uint32_t>(4) + raw<std::uint32_t>(1);
  out += text("general.architecture") + raw<std::uint32_t>(8) + text("llama");
  out += text("list") + raw<std::uint32_t>(9) + raw<std::uint32_t>(8) + raw<std::uint64_t>(2) + text("a") +
         text("bc");
  out += text(key ? "blk.0.attn_k.weight" : "blk.0.attn_q.weight") + raw<std::uint32_t>(2);
  out +=
      raw<std::uint64_t>(k) + raw<std::uint64_t>(2) + raw<std::uint32_t>(type) + raw<std::uint64_t>(offset);
  out.resize((out.size() + 31) / 32 * 32);
  return out + data;
}

/// 1.5 and 0.25 in binary16.
const std::string kOneAndAHalf("\x00\x3E", 2), kQuarter("\x00\x34", 2);

// Formulas: ggml-org/ggml src/ggml-common.h, block_q8_0, block_q4_K, block_q6_K, and docs of the types.
TEST(Checkpoint, BlocksOfGguf) {
  const ScratchFolder folder;
  Draw draw;
  const auto random = [&](std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += static_cast<char>(draw(256));
    return out;
  };
  const auto at = [](const std::string& data, std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(data[i]));
  };
  const auto check = [&](std::uint32_t type, std::uint64_t k, const std::string& data,
                         const std::vector<float>& wanted) {
    put(folder / "x.gguf", gguf(type, k, data));
    const Checkpoint checkpoint(folder / "x.gguf");
    expect_weights(checkpoint, wanted, "gguf");
    EXPECT_EQ(checkpoint.layers()[0].name, "model.layers.0.self_attn.q_proj");
  };
  std::string q8, q4, q4k, q6k, mx, nv;
  std::vector<float> of_q8, of_q4, of_q4k, of_q6k, of_mx, of_nv(128);
  for (int row = 0; row < 2; ++row) {
    const std::string codes = random(32);
    q8 += kOneAndAHalf + codes;
    for (std::size_t i = 0; i < 32; ++i)
      of_q8.push_back(1.5F * static_cast<float>(static_cast<signed char>(codes[i])));
    q4 += kOneAndAHalf + codes.substr(0, 16);
    for (std::size_t i = 0; i < 32; ++i)
      of_q4.push_back(1.5F * static_cast<float>(
                                 static_cast<int>(i < 16 ? at(codes, i) & 15 : at(codes, i - 16) >> 4) - 8));
    mx += char(126) + codes.substr(16);
    for (std::size_t i = 0; i < 32; ++i)
      of_mx.push_back(static_cast<float>(0.5 * fp4(i < 16 ? at(codes, 16 + i) & 15 : at(codes, i) >> 4)));
  }
  for (int row = 0; row < 2; ++row) {
    const std::string scales = random(12), codes = random(128);
    for (const std::string& part : {kOneAndAHalf, kQuarter, scales, codes}) q4k += part;
    for (std::size_t i = 0; i < 256; ++i) {
      const std::size_t j = i / 32;
      const unsigned low =
          j < 4 ? at(scales, j) & 63 : (at(scales, j + 4) & 15) | (at(scales, j - 4) >> 6) << 4;
      const unsigned least =
          j < 4 ? at(scales, j + 4) & 63 : at(scales, j + 4) >> 4 | (at(scales, j) >> 6) << 4;
      const unsigned byte = at(codes, i / 64 * 32 + i % 32), code = i % 64 < 32 ? byte & 15 : byte >> 4;
      of_q4k.push_back(1.5F * static_cast<float>(low) * static_cast<float>(code) -
                       0.25F * static_cast<float>(least));
    }
    const std::string l = random(128), h = random(64), s = random(16);
    for (const std::string& part : {l, h, s, kQuarter}) q6k += part;
    for (std::size_t i = 0; i < 256; ++i) {
      const std::size_t n = i / 128, j = i % 128, quarter = j / 32, in = j % 32;
      const unsigned byte = at(l, n * 64 + (quarter % 2) * 32 + in),
                     four = quarter < 2 ? byte & 15 : byte >> 4;
      const unsigned two = at(h, n * 32 + in) >> 2 * quarter & 3;
      of_q6k.push_back(0.25F * static_cast<float>(static_cast<signed char>(s[i / 16])) *
                       static_cast<float>(static_cast<int>(four | two << 4) - 32));
    }
  }
  for (std::size_t row = 0; row < 2; ++row) {
    std::string scales, codes = random(32);
    for (int i = 0; i < 4; ++i) scales += static_cast<char>(draw(120));
    nv += scales + codes;
    for (std::size_t i = 0; i < 64; ++i) {
      const unsigned byte = at(codes, i / 16 * 8 + i % 8);
      of_nv[row * 64 + i] =
          static_cast<float>(fp8(at(scales, i / 16)) * fp4(i % 16 < 8 ? byte & 15 : byte >> 4));
    }
  }
  check(8, 32, q8, of_q8);
  check(2, 32, q4, of_q4);
  check(12, 256, q4k, of_q4k);
  check(14, 256, q6k, of_q6k);
  check(39, 32, mx, of_mx);
  check(40, 64, nv, of_nv);
  put(folder / "x.gguf", gguf(8, 32, q8, 0, true));  // no head_count_kv: as many as heads
  EXPECT_EQ(Checkpoint(folder / "x.gguf").layers().at(0).head_rows, 2U);
}

TEST(Checkpoint, HostileGguf) {
  const ScratchFolder folder;
  const auto opened = [&](const std::string& bytes) {
    put(folder / "x.gguf", bytes);
    return [&folder] { Checkpoint checkpoint(folder / "x.gguf"); };
  };
  const std::string good = gguf(8, 32, std::string(68, '\1'));
  for (std::size_t size = 0; size + 100 < good.size(); size += 5)
    expect_refused(opened(good.substr(0, size)), "found");
  const auto said = [&](const std::string& bytes) {
    opened(bytes)();
    const Checkpoint checkpoint(folder / "x.gguf");
    EXPECT_TRUE(checkpoint.layers().empty());
    return checkpoint.others().empty() ? std::string() : checkpoint.others()[0].why;
  };
  EXPECT_NE(said(gguf(8, 33, std::string(68, '\1'))).find("whole blocks of 32"), std::string::npos);
  EXPECT_NE(said(gguf(8, 32, "")).find("offset: found 0"), std::string::npos);
  EXPECT_NE(said(gguf(8, 32, "", ~std::uint64_t{31})).find("offset"), std::string::npos);
  EXPECT_NE(said(gguf(8, std::uint64_t{1} << 63, std::string(68, '\1'))).find("shape"), std::string::npos);
  EXPECT_NE(said(gguf(11, 256, "")).find("type: found 11, allowed: F32"), std::string::npos);
  expect_refused(opened("GGUF" + raw<std::uint32_t>(3) + raw(~std::uint64_t{0}) + raw<std::uint64_t>(0)),
                 "counts");
  expect_refused(opened("GGUX"), "allowed: GGUF");
}

}  // namespace
}  // namespace mmaudit::corpus
