#include "mmaudit/corpus/safetensors.hpp"

#include <gtest/gtest.h>

#include "mmaudit/corpus/checkpoint.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::get;
using test::put;
using test::safetensors_bytes;
using test::ScratchFolder;
using test::Shape;

SafetensorsFile parsed_file(std::string_view bytes) {
  const ScratchFolder folder;
  put(folder / "x.safetensors", bytes);
  return read_safetensors(folder / "x.safetensors");
}

/// One tensor "t" with this entry and 4 bytes of data.
std::string entry(std::string_view text) {
  return safetensors_bytes(R"({"t":)" + std::string(text) + "}", "abcd");
}

SafetensorsFile two_tensors() {
  SafetensorsFile file;
  file.metadata = {{"key", "line\nend \"q\" \\ \x1f"}, {"\xC3\xA9", ""}};
  file.tensors.push_back(
      {"z \"\n\xE2\x82\xAC", DType::bf16, {1, 3}, std::vector<std::byte>(6, std::byte{0x81})});
  file.tensors.push_back({"empty", DType::f64, {0, 7}, {}});
  file.tensors.push_back({"a", DType::u8, {}, {std::byte{9}}});
  return file;
}

void expect_equal(const SafetensorsFile& x, const SafetensorsFile& y) {
  EXPECT_EQ(x.metadata, y.metadata);
  ASSERT_EQ(x.tensors.size(), y.tensors.size());
  for (std::size_t i = 0; i < x.tensors.size(); ++i) {
    EXPECT_EQ(x.tensors[i].name, y.tensors[i].name);
    EXPECT_EQ(x.tensors[i].dtype, y.tensors[i].dtype);
    EXPECT_EQ(x.tensors[i].shape, y.tensors[i].shape);
    EXPECT_EQ(x.tensors[i].data, y.tensors[i].data);
  }
}

TEST(Safetensors, RoundTripsInTheGivenOrder) {
  const ScratchFolder folder;
  write_safetensors(folder / "x.safetensors", two_tensors());
  expect_equal(read_safetensors(folder / "x.safetensors"), two_tensors());
  const std::string bytes = get(folder / "x.safetensors");
  write_safetensors(folder / "x.safetensors", read_safetensors(folder / "x.safetensors"));
  EXPECT_EQ(get(folder / "x.safetensors"), bytes);
}

TEST(Safetensors, WritesTheseBytes) {
  const ScratchFolder folder;
  SafetensorsFile file;
  file.metadata = {{"b", "2"}, {"a", "1"}};
  file.tensors.push_back({"t", DType::f16, {2, 1}, std::vector<std::byte>(4, std::byte{'x'})});
  write_safetensors(folder / "x.safetensors", file);
  const std::string header =
      R"({"__metadata__":{"a":"1","b":"2"},"t":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]}})";
  EXPECT_EQ(get(folder / "x.safetensors"),
            safetensors_bytes(header + std::string(7 - (header.size() + 7) % 8, ' '), "xxxx"));
  write_safetensors(folder / "x.safetensors", {});
  EXPECT_EQ(get(folder / "x.safetensors"), safetensors_bytes("{}      "));
}

TEST(Safetensors, ReadsHeadersAndSingleTensors) {
  const ScratchFolder folder;
  const auto path = folder / "x.safetensors";
  write_safetensors(path, two_tensors());
  const SafetensorsHeader header = read_safetensors_header(path);
  ASSERT_EQ(header.tensors.size(), 3U);
  EXPECT_EQ(header.metadata, two_tensors().metadata);
  EXPECT_EQ(header.tensors[2].name, "a");
  EXPECT_EQ(header.tensors[0].shape, (Shape{1, 3}));
  EXPECT_EQ(header.tensors[2].begin, 6U);
  EXPECT_EQ(header.data_start % 8, 0U);
  EXPECT_EQ(read_safetensors_tensor(path, "a").data, two_tensors().tensors[2].data);
  expect_refused([&] { read_safetensors_tensor(path, "b"); },
                 "tensor: found no 'b', allowed: z \"\\x0a\xE2\x82\xAC, empty, a");
  const SafetensorsFile file = two_tensors();
  EXPECT_EQ(file.at("a", "x").shape, Shape{});
  expect_refused([&] { static_cast<void>(file.at("b", "x")); }, "x: tensor: found no 'b'");
}

TEST(Safetensors, ReadsOtherWritersOrderAndSpaces) {
  const SafetensorsFile file = parsed_file(safetensors_bytes(
      "{ \"late\" : {\"data_offsets\":[1,2], \"shape\":[1],\"dtype\":\"I8\"},\n\t\"\\u0041\":"
      R"({"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]},"none":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}  )",
      "ab"));
  ASSERT_EQ(file.tensors.size(), 3U);
  EXPECT_EQ(file.tensors[0].name, "A");
  EXPECT_EQ(file.tensors[1].name, "none");
  EXPECT_EQ(file.tensors[2].data, std::vector<std::byte>{std::byte{'b'}});
}

TEST(Safetensors, RefusesEveryTruncation) {
  const ScratchFolder folder;
  write_safetensors(folder / "x.safetensors", two_tensors());
  const std::string whole = get(folder / "x.safetensors");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(parsed_file(whole.substr(0, size)), InputError) << size;
  }
  expect_refused([&] { parsed_file(whole + "x"); }, "data: found 8 bytes, allowed: 7");
}

TEST(Safetensors, RefusesMalformedEntries) {
  EXPECT_EQ(parsed_file(entry(R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]})")).tensors.size(), 1U);
  for (
      const std::string_view text :
      {"null",
       "1",
       "[]",
       "\"x\"",
       "{}",
       R"({"dtype":"U32","shape":[1]})",
       R"({"dtype":"U32","data_offsets":[0,4]})",
       R"({"shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":"C64","shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":"u32","shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":1,"shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":1,"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":[-1],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":[1.0],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":["1"],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":[[1]],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":[2],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4,4]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[4,0]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,5]})",
       R"({"dtype":"U16","shape":[1],"data_offsets":[2,4]})",
       R"({"dtype":"U16","shape":[1],"data_offsets":[0,2]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,18446744073709551615]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[18446744073709551612,4]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,18446744073709551616]})",
       R"({"dtype":"U32","shape":[4611686018427387905],"data_offsets":[0,4]})",
       R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]})",
       R"({"dtype":"U8","shape":[0,9223372036854775808,2],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4],"extra":1})",
       R"({"dtype":"U32","shape":[1],"shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"U32","shape":[0],"data_offsets":[4,4]})",
       R"({"dtype":"U16","shape":[1],"data_offsets":[0,2]},"u":{"dtype":"U16","shape":[1],"data_offsets":[1,3]})",
       R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]},"u":{"dtype":"U16","shape":[1],"data_offsets":[2,4]})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"a":1})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"a":"1","a":"1"})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]},"__metadata__":{},"__metadata__":{})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"a":{}})",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]},"__metadata__":null)",
       R"({"dtype":"U32","shape":[1],"data_offsets":[0,4]}} {)"}) {
    EXPECT_FALSE(test::refusal([&] { parsed_file(entry(text)); }).empty()) << text;
  }
  std::string rank65 = "[1";
  for (int i = 0; i < 64; ++i) rank65 += ",1";
  expect_refused(
      [&] { parsed_file(entry(R"({"dtype":"U32","shape":)" + rank65 + R"(],"data_offsets":[0,4]})")); },
      "64 dimensions");
}

TEST(Safetensors, RefusesMalformedHeaders) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "{"sv, "[]"sv, "null"sv, "1"sv, " {}"sv, "\xEF\xBB\xBF{}"sv, "{}x"sv, "{}\0"sv, "{}\0garbage"sv,
        "{}{}"sv, "{} /* */"sv, "{\"a\"}"sv, "{\"a\":}"sv, "{\"\xFF\":{}}"sv, "{\"\x1b[31m\":1}"sv,
        "{\"\\u001b[31m\\n\":1}"sv, "{'a':1}"sv, "{\"\\ud800\":1}"sv}) {
    EXPECT_FALSE(test::refusal([&] { parsed_file(safetensors_bytes(text)); }).empty()) << text;
  }
}

TEST(Safetensors, RefusesHostileSizesAndDepthsQuickly) {
  const std::string huge("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
  expect_refused([&] { parsed_file(huge); },
                 "header length: found 9223372036854775807, allowed: at most 16777216");
  expect_refused([&] { parsed_file(std::string("\x03\0\0\0\0\0\0\0{}", 10)); }, "size: found 10 bytes");
  const std::string deep(7 << 20, '['), end(7 << 20, ']');
  expect_refused([&] { parsed_file(safetensors_bytes("{\"a\":" + deep)); }, "header: found no JSON");
  expect_refused([&] { parsed_file(safetensors_bytes("{\"a\":" + deep + end + "}")); },
                 "header key 'a': found an array, allowed: an object");
  expect_refused([&] { parsed_file(entry(R"({"shape":)" + deep + end + "}")); }, "shape: found an array");
}

/// Every tensor that the file has beside "good", and what reading that one says.
TEST(Safetensors, ATensorNobodyAskedForClosesNoOther) {
  const ScratchFolder folder;
  const auto path = folder / "x.safetensors";
  const std::string good = R"("good":{"dtype":"U16","shape":[2],"data_offsets":[0,4]})";
  for (
      const auto& [other, says] : std::vector<std::pair<std::string, std::string>>{
          {R"("t":{"dtype":"F4","shape":[4],"data_offsets":[4,8]})", "tensor 't' dtype: found 'F4'"},
          {R"("t":{"dtype":"U8","shape":[1.5],"data_offsets":[4,8]})", "tensor 't' shape: found 1.5"},
          {R"("t":{"dtype":"U8","shape":[[{"a":[1]}],2],"data_offsets":[4,8]})", "shape: found an array"},
          {R"("t":{"dtype":{"x":"U8"},"shape":[4],"data_offsets":[4,8]})", "dtype: found an object"},
          {R"("t":{"dtype":"U8","shape":[5],"data_offsets":[4,8]})",
           "data_offsets: found [4, 8], allowed: 5"},
          {R"("t":{"dtype":"U8","shape":[5],"data_offsets":[4,9]})", "allowed: an end within the 8 bytes"},
          {R"("t":{"dtype":"U8","shape":[5]})", "data_offsets: found no such key"},
          {R"("t":{"dtype":"U8","shape":[4],"data_offsets":[4,8],"more":{"a":1}})", "key: found 'more'"},
          {R"("t":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[4,8]})",
           "dtype: found the key twice"},
          {R"("t":7)", "header key 't': found the number 7"},
          {R"("t":[[7],{"u":{"dtype":"U8"}}])", "header key 't': found an array"},
          {R"("t":{"dtype":"U8","shape":[4],"data_offsets":[4,8]},"t":{"dtype":"I8","shape":[4],"data_offsets":[4,8]})",
           "found the key twice"},
          {R"("__metadata__":{"a":[1],"b":"2"},"t":null)", "header key 't': found null"}})
    for (const bool first : {true, false}) {
      std::string entries = first ? good : other;
      entries.append(",").append(first ? other : good);
      put(path, safetensors_bytes("{" + entries + "}", "abcdefgh"));
      const Tensor tensor = read_safetensors_tensor(path, "good");
      EXPECT_EQ(tensor.as<std::uint16_t>()[1], 'c' | 'd' << 8) << other;
      expect_refused([&] { read_safetensors_tensor(path, "t"); }, says);
      EXPECT_FALSE(read_safetensors_header(path).refused.empty()) << other;
      EXPECT_FALSE(test::refusal([&] { read_safetensors(path); }).empty()) << other;
    }
  // A file that ends early still has what lies in front.
  put(path,
      safetensors_bytes("{" + good + R"(,"t":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", "abcdef"));
  EXPECT_EQ(read_safetensors_tensor(path, "good").data.size(), 4U);
  expect_refused([&] { read_safetensors_tensor(path, "t"); }, "an end within the 6 bytes of data");
  // What of the metadata is text is there, whatever else is.
  put(path, safetensors_bytes(R"({"__metadata__":{"a":[1],"b":"2"}})"));
  EXPECT_EQ(read_safetensors_header(path).metadata, (std::map<std::string, std::string>{{"b", "2"}}));
}

TEST(Safetensors, RefusesToWriteWhatItWouldNotRead) {
  const ScratchFolder folder;
  const auto path = folder / "x.safetensors";
  const Tensor one{"t", DType::u8, {1}, {std::byte{}}};
  const auto write = [&](const SafetensorsFile& file) {
    return [&path, file] { write_safetensors(path, file); };
  };
  expect_refused(write({{}, {one, one}}), "tensor: found 't', allowed: names used once");
  expect_refused(write({{}, {{"__metadata__", DType::u8, {0}, {}}}}), "found '__metadata__'");
  expect_refused(write({{}, {{"t", DType::u8, {2}, {}}}}),
                 "tensor 't': found 0 bytes, allowed: 2 for [2] U8");
  expect_refused(write({{}, {{"\xFF", DType::u8, {0}, {}}}}), "allowed: UTF-8");
  expect_refused(write({{{"k", "\xFF"}}, {}}), "allowed: UTF-8");
  expect_refused(write({{{"k", std::string(17 << 20, 'x')}}, {}}), "header: found");
  EXPECT_TRUE(folder.names().empty());
}

TEST(Checkpoint, ShardsAndNetworkOrder) {
  const ScratchFolder folder;
  const std::vector<float> numbers(4, 1.0F);
  const auto one = [&](const std::string& name) {
    return make_tensor<float>(name, DType::f32, {2, 2}, std::span<const float>(numbers));
  };
  write_safetensors(folder / "x-1.safetensors",
                    {{},
                     {one("lm_head.weight"), one("model.layers.10.mlp.down_proj.weight"),
                      one("model.layers.2.mlp.gate_proj.weight")}});
  write_safetensors(folder / "x-2.safetensors",
                    {{}, {one("model.layers.2.self_attn.q_proj.weight"), one("model.embed_tokens.weight")}});
  put(folder / "model.safetensors.index.json",
      R"({"weight_map":{"lm_head.weight":"x-1.safetensors","model.embed_tokens.weight":)"
      R"("x-2.safetensors","lost.weight":"x-2.safetensors"}})");
  const Checkpoint checkpoint(folder.path());
  std::vector<std::string> names;
  for (const CheckpointLayer& layer : checkpoint.layers()) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"model.embed_tokens", "model.layers.2.self_attn.q_proj",
                                             "model.layers.2.mlp.gate_proj", "model.layers.10.mlp.down_proj",
                                             "lm_head"}));
  ASSERT_EQ(checkpoint.others().size(), 1U);
  EXPECT_EQ(checkpoint.others()[0].name, "lost.weight");
  put(folder / "model.safetensors.index.json", R"({"weight_map":{"a":"../x-1.safetensors"}})");
  expect_refused([&] { Checkpoint again(folder.path()); }, "allowed: the name of a file of this folder");
  put(folder / "model.safetensors.index.json", std::string(100, '[') + std::string(100, ']'));
  expect_refused([&] { Checkpoint again(folder.path()); }, "nesting");
}

}  // namespace
}  // namespace mmaudit::corpus
